package layout

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"trialog/core/kafka"
)

// Suffixes of the files of a partition. Those of a segment follow its base offset; the rest follow one of those.
const (
	LogSuffix       = ".log"
	IndexSuffix     = ".index"
	TimeIndexSuffix = ".timeindex"
	TxnIndexSuffix  = ".txnindex"
	SnapshotSuffix  = ".snapshot"
	DeletedSuffix   = ".deleted" // to be removed after file.delete.delay.ms
	CleanedSuffix   = ".cleaned" // written by a compaction that is not complete
	SwapSuffix      = ".swap"    // complete, not yet in place of what it replaces
	TmpSuffix       = ".tmp"     // will be renamed when it is durable
)

// Files with fixed names: the first three in the directory of a partition, the others in that of the logs.
const (
	EpochFile         = "leader-epoch-checkpoint"
	PartitionFile     = "partition.metadata"
	FsyncFailedFile   = "fsync-failed" // not Kafka's: an fsync of the log failed, so what is read back may not be on disk
	CleanMarker       = ".kafka_cleanshutdown"
	PropertiesFile    = "meta.properties"
	HWFile            = "replication-offset-checkpoint"
	RecoveryPointFile = "recovery-point-offset-checkpoint"
	LogStartFile      = "log-start-offset-checkpoint"
	CleanerFile       = "cleaner-offset-checkpoint"
)

// Suffixes of directories that are no partitions any more.
const (
	DeleteDirSuffix = "-delete" // is to be removed
	StrayDirSuffix  = "-stray"  // is kept although no topic claims it
)

// FileName is the base offset in 20 digits, and the suffix.
func FileName(base kafka.Offset, suffix string) string { return fmt.Sprintf("%020d%s", base, suffix) }

// ParseFileName is the inverse; ok is false for all other names. The suffix may be several in a row (".log.swap").
func ParseFileName(name string) (base kafka.Offset, suffix string, ok bool) {
	const digits = 20
	if len(name) <= digits || name[digits] != '.' {
		return 0, "", false
	}
	base, err := strconv.ParseInt(name[:digits], 10, 64)
	if err != nil || base < 0 {
		return 0, "", false
	}
	return base, name[digits:], true
}

// IsDir reports that an entry of dir is a directory, or a link to one: a partition may lie on another disk.
func IsDir(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

// IsDeletedDir reports the name that the directory of a partition gets when it is to be removed, and no other:
// `<topic>-<partition>.<unique>-delete`.
func IsDeletedDir(name string) bool {
	rest, ok := strings.CutSuffix(name, DeleteDirSuffix)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return false
	}
	_, err := kafka.ParseTopicPartition(rest[:dot])
	return err == nil && dot+1 < len(rest)
}
