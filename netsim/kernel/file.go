package kernel

// Mode says which readiness a poll asks for.
type Mode uint8

// Readiness modes.
const (
	Readable Mode = 1 << iota
	Writable
)

// FileKind is what fstat reports.
type FileKind uint8

// Kinds of file.
const (
	KindRegular FileKind = iota + 1
	KindDirectory
	KindSocket
	KindChar // standard streams and sinks
	KindPipe
)

// File is an open file description. No call blocks: where a real call would, it answers [EAGAIN] and the process
// polls. dst and src are only borrowed for the call.
type File interface {
	Kind() FileKind
	// Read copies up to len(dst) bytes; 0 with OK is the end of the file or stream.
	Read(p *Proc, dst []byte) (int, Errno)
	// Write takes up to len(src) bytes; a short count is legal.
	Write(p *Proc, src []byte) (int, Errno)
	// Ready tells whether a Read (Write) would not answer EAGAIN now. It must not change anything.
	Ready(m Mode) bool
	// Close is called once, when the last descriptor is gone. p.Dying() tells an exit (of any sort) from close(2).
	Close(p *Proc)
}

// Regular is what files and directories of a disk add to File. A call that the disk makes slow registers itself with
// [Proc.Defer], answers EAGAIN, and is called again with the same arguments once done; see [Proc.Resumed].
type Regular interface {
	File
	Pread(p *Proc, dst []byte, off int64) (int, Errno)
	Pwrite(p *Proc, src []byte, off int64) (int, Errno)
	Seek(p *Proc, off int64, whence int) (int64, Errno)
	Truncate(p *Proc, size int64) Errno
	// Sync makes data and size (of a directory: its entries) durable as they were when it was called.
	Sync(p *Proc) Errno
	Stat(p *Proc) (Stat, Errno)
	// Entries lists a directory in name order, without "." and "..".
	Entries(p *Proc) ([]DirEntry, Errno)
}

// SureFile is a file of a disk that can take a write for certain: an engine may then let the guest go on before the
// write is made.
type SureFile interface {
	File
	// Sure tells whether writes to the file are taken whole and at once as long as its disk has no fault and room.
	Sure() bool
	// WriteSure writes all of src at off, or at the file's position if off is negative, whatever faults the disk has by now.
	WriteSure(src []byte, off int64) Errno
}

// Socket is what stream sockets add to File.
type Socket interface {
	File
	// Accept takes one established connection, or EAGAIN.
	Accept(p *Proc) (Socket, Errno)
	// Shutdown ends one direction or both (how is a set of Readable, Writable).
	Shutdown(p *Proc, how Mode) Errno
	// LocalAddr and RemoteAddr are zero where there is none.
	LocalAddr() Addr
	RemoteAddr() Addr
	// Err takes the pending error (SO_ERROR): EINPROGRESS while a dial is under way, OK when established.
	Err() Errno
}

// Addr is an IPv4 address and port.
type Addr struct {
	IP   [4]byte
	Port uint16
}

// Stat describes a file.
type Stat struct {
	Kind    FileKind
	Inode   uint64
	Size    int64
	Links   uint64
	ModTime int64 // virtual ns since the start of the world
}

// DirEntry is one name of a directory.
type DirEntry struct {
	Name  string
	Kind  FileKind
	Inode uint64
}

// OpenFlags for FS.Open.
type OpenFlags uint16

// Flags of open(2) that a disk must obey.
const (
	OpenRead OpenFlags = 1 << iota
	OpenWrite
	OpenCreate
	OpenExcl
	OpenTrunc
	OpenAppend
	OpenDir
	OpenSync // each write returns when it is durable
)

// FS is one host's filesystem. Paths are absolute, slash-separated and clean.
type FS interface {
	Open(p *Proc, path string, flags OpenFlags) (Regular, Errno)
	Mkdir(p *Proc, path string) Errno
	Unlink(p *Proc, path string) Errno
	Rmdir(p *Proc, path string) Errno
	Rename(p *Proc, from, to string) Errno
	Stat(p *Proc, path string) (Stat, Errno)
	SetModTime(p *Proc, path string, t int64) Errno
}

// Net is the network all hosts share.
type Net interface {
	// Bind tells whether the host can listen at an address, and takes a free port where it is 0. Nothing is held.
	Bind(p *Proc, at Addr) (Addr, Errno)
	// Listen binds; port 0 picks a free one, ip 0.0.0.0 all addresses of the host.
	Listen(p *Proc, at Addr) (Socket, Errno)
	// Dial starts a connection and answers EINPROGRESS with the socket, or a definite error at once.
	Dial(p *Proc, to Addr) (Socket, Errno)
	// Lookup resolves a host name.
	Lookup(p *Proc, name string) ([4]byte, Errno)
}
