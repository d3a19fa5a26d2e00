//go:build !guest && linux

package logdirs

import "golang.org/x/sys/unix"

// space is the size of the disk that holds path, and what of it can be used.
func space(path string) (total, usable int64) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return UnknownBytes, UnknownBytes
	}
	return int64(st.Blocks) * st.Bsize, int64(st.Bavail) * st.Bsize
}
