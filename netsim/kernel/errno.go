package kernel

import "fmt"

// Errno is the result of a system call. Values are Linux's, so that an engine for Linux guests passes them through;
// other engines translate.
type Errno uint16

// The error numbers the simulated system uses.
const (
	OK            Errno = 0
	EPERM         Errno = 1
	ENOENT        Errno = 2
	EINTR         Errno = 4
	EIO           Errno = 5
	EBADF         Errno = 9
	EAGAIN        Errno = 11
	EACCES        Errno = 13
	EEXIST        Errno = 17
	EXDEV         Errno = 18
	ENOTDIR       Errno = 20
	EISDIR        Errno = 21
	EINVAL        Errno = 22
	EMFILE        Errno = 24
	EFBIG         Errno = 27
	ENOSPC        Errno = 28
	ESPIPE        Errno = 29
	EPIPE         Errno = 32
	ENAMETOOLONG  Errno = 36
	ENOSYS        Errno = 38
	ENOTEMPTY     Errno = 39
	ENOTSOCK      Errno = 88
	EOPNOTSUPP    Errno = 95
	EADDRINUSE    Errno = 98
	EADDRNOTAVAIL Errno = 99
	ENETUNREACH   Errno = 101
	ECONNRESET    Errno = 104
	EISCONN       Errno = 106
	ENOTCONN      Errno = 107
	ETIMEDOUT     Errno = 110
	ECONNREFUSED  Errno = 111
	EHOSTUNREACH  Errno = 113
	EALREADY      Errno = 114
	EINPROGRESS   Errno = 115
)

var errnoNames = [...]struct {
	e    Errno
	name string
}{
	{OK, "ok"}, {EPERM, "EPERM"}, {ENOENT, "ENOENT"}, {EINTR, "EINTR"}, {EIO, "EIO"}, {EBADF, "EBADF"},
	{EAGAIN, "EAGAIN"}, {EACCES, "EACCES"}, {EEXIST, "EEXIST"}, {EXDEV, "EXDEV"}, {ENOTDIR, "ENOTDIR"},
	{EISDIR, "EISDIR"}, {EINVAL, "EINVAL"}, {EMFILE, "EMFILE"}, {EFBIG, "EFBIG"}, {ENOSPC, "ENOSPC"},
	{ESPIPE, "ESPIPE"}, {EPIPE, "EPIPE"}, {ENAMETOOLONG, "ENAMETOOLONG"}, {ENOSYS, "ENOSYS"},
	{ENOTEMPTY, "ENOTEMPTY"}, {ENOTSOCK, "ENOTSOCK"}, {EADDRINUSE, "EADDRINUSE"},
	{EADDRNOTAVAIL, "EADDRNOTAVAIL"}, {ENETUNREACH, "ENETUNREACH"}, {ECONNRESET, "ECONNRESET"},
	{ENOTCONN, "ENOTCONN"}, {ETIMEDOUT, "ETIMEDOUT"}, {ECONNREFUSED, "ECONNREFUSED"},
	{EHOSTUNREACH, "EHOSTUNREACH"}, {EINPROGRESS, "EINPROGRESS"}, {EOPNOTSUPP, "EOPNOTSUPP"},
	{EISCONN, "EISCONN"}, {EALREADY, "EALREADY"},
}

// String gives the symbolic name.
func (e Errno) String() string {
	for i := range errnoNames {
		if errnoNames[i].e == e {
			return errnoNames[i].name
		}
	}
	return fmt.Sprintf("errno(%d)", uint16(e))
}

// Error makes a non-zero Errno usable as a Go error.
func (e Errno) Error() string { return e.String() }
