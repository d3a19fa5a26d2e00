package layout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Durability says what WriteDurable waits for. Both are on but for mutants.
type Durability struct {
	// FsyncFile fsyncs the temporary file before it gets its name.
	FsyncFile bool
	// FsyncDirectory fsyncs the directory after the rename.
	FsyncDirectory bool
}

// Full waits for everything.
var Full = Durability{FsyncFile: true, FsyncDirectory: true}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// WriteDurable replaces a file so that after a crash the old or the new content is there: temporary file, fsync, rename,
// fsync of the directory (KAFKA-16541).
func WriteDurable(dir, name string, data []byte, how Durability) error {
	path := filepath.Join(dir, name)
	if err := write(path+TmpSuffix, data, how.FsyncFile); err != nil {
		return err
	}
	if err := os.Rename(path+TmpSuffix, path); err != nil {
		return err
	}
	if !how.FsyncDirectory {
		return nil
	}
	return SyncDir(dir)
}

// WriteSynced writes and fsyncs a file in place.
func WriteSynced(path string, data []byte) error { return write(path, data, true) }

func write(path string, data []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// RemoveIfThere removes a file or does nothing.
func RemoveIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadIfThere is nil, without an error, when there is no such file; an empty file is not nil.
func ReadIfThere(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && b == nil {
		b = []byte{}
	}
	return b, err
}
