package wasi

import "trialog/netsim/kernel"

// wasiErrno translates the kernel's numbers to WASI's.
var wasiErrno = [...]struct {
	from kernel.Errno
	to   uint64
}{
	{kernel.OK, 0}, {kernel.EAGAIN, 6}, {kernel.EACCES, 2}, {kernel.EADDRINUSE, 3}, {kernel.EADDRNOTAVAIL, 4},
	{kernel.EBADF, 8}, {kernel.ECONNREFUSED, 14}, {kernel.ECONNRESET, 15}, {kernel.EEXIST, 20}, {kernel.EFBIG, 22},
	{kernel.EHOSTUNREACH, 23}, {kernel.EINPROGRESS, 26}, {kernel.EINTR, 27}, {kernel.EINVAL, 28}, {kernel.EIO, 29},
	{kernel.EISDIR, 31}, {kernel.EMFILE, 33}, {kernel.ENAMETOOLONG, 37}, {kernel.ENETUNREACH, 40},
	{kernel.ENOENT, 44}, {kernel.ENOSPC, 51}, {kernel.ENOSYS, 52}, {kernel.ENOTCONN, 53}, {kernel.ENOTDIR, 54},
	{kernel.ENOTEMPTY, 55}, {kernel.ENOTSOCK, 57}, {kernel.EPERM, 63}, {kernel.EPIPE, 64}, {kernel.ESPIPE, 70},
	{kernel.ETIMEDOUT, 73}, {kernel.EXDEV, 75},
}

// notSupported is WASI's ENOTSUP.
const notSupported = 58

func errno(e kernel.Errno) uint64 {
	for i := range wasiErrno {
		if wasiErrno[i].from == e {
			return wasiErrno[i].to
		}
	}
	panic("wasi: no translation for " + e.String())
}
