// Package txnindex is the index of aborted transactions of one segment: the file .txnindex.
//
// It owns how an entry gets into the file, and which of them a reader of committed records is told. It never holds a file
// open: transactions that abort are rare, and most segments have no such file. Caller: seglog, which decides when an entry
// is made, under its append lock.
package txnindex

import (
	"os"

	"trialog/core/kafka"
	"trialog/core/record"
	"trialog/core/seglog/layout"
)

// Aborts reports that a whole batch is the marker of an aborted transaction.
func Aborts(h *record.Header, batch []byte) bool {
	if !h.IsControl() || !h.IsTransactional() {
		return false
	}
	it := record.NewRecords(batch)
	if !it.Next() {
		return false
	}
	kind, err := record.ParseControl(it.Record())
	return err == nil && kind == record.ControlAbort
}

// Append adds an entry; it is not fsynced.
func Append(path string, e layout.TxnEntry) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err = f.Write(layout.AppendTxnEntries(nil, []layout.TxnEntry{e})); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Cut drops the entries whose marker lies at end or later, durably, and what cannot be read. Without an entry there is no
// file. What stays is never written again: nothing could bring it back if that were cut off.
func Cut(path string, end kafka.Offset) error {
	b, err := layout.ReadIfThere(path)
	if b == nil || err != nil {
		return err
	}
	rows, bad := layout.ParseTxnIndex(b)
	n := len(rows)
	for n > 0 && rows[n-1].Last >= end {
		n--
	}
	switch {
	case n == 0:
		return os.Remove(path)
	case n == len(rows) && bad == nil:
		return nil
	}
	return onFile(path, func(f *os.File) error {
		if err := truncate(f, int64(n)*layout.TxnEntrySize); err != nil {
			return err
		}
		return f.Sync()
	})
}

// truncate is watched by a test.
var truncate = (*os.File).Truncate

// Sync makes the file durable, if there is one.
func Sync(path string) error {
	err := onFile(path, (*os.File).Sync)
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func onFile(path string, fn func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := fn(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Collect appends the transactions that a reader of [from, to) has to skip. done reports that no later segment has more: a
// marker left no transaction open that begins below to. A file that cannot be read is an error: to skip less would show
// records that were taken back.
func Collect(dst []layout.TxnEntry, path string, from, to kafka.Offset) (all []layout.TxnEntry, done bool, err error) {
	b, err := layout.ReadIfThere(path)
	if err != nil {
		return dst, false, err
	}
	rows, err := layout.ParseTxnIndex(b)
	if err != nil {
		return dst, false, err
	}
	for _, e := range rows {
		if e.Last >= from && e.First < to {
			dst = append(dst, e)
		}
		if e.LastStable >= to {
			return dst, true, nil
		}
	}
	return dst, false, nil
}
