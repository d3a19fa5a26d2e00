package kernel

// SureFile is a file of a disk that can take a write for certain: an engine may then let the guest go on before the
// write is made.
type SureFile interface {
	File
	// Sure tells whether writes to the file are taken whole and at once as long as its disk has no fault and room.
	Sure() bool
	// WriteSure writes all of src at off, or at the file's position if off is negative, whatever faults the disk has by now.
	WriteSure(src []byte, off int64) Errno
}

// WriteSure is write(2), or pwrite(2) if off is not negative, on a [SureFile], made after the guest was told that it
// succeeded. It is a call like others: traps may strike at it, and what a trap in its middle left out is written by
// another call if the process lives on.
func (p *Proc) WriteSure(fd int, src []byte, off int64) Errno {
	name := "write"
	if off >= 0 {
		name = "pwrite"
	}
	for {
		n, e := p.write(name, fd, src, func(f File, b []byte) (int, Errno) {
			s, ok := f.(SureFile)
			if !ok {
				return 0, EBADF
			}
			return len(b), s.WriteSure(b, off)
		})
		if e != OK || n == len(src) {
			return e
		}
		src = src[n:]
		if off >= 0 {
			off += int64(n)
		}
	}
}
