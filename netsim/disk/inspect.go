package disk

// Files lists the paths of all regular files, sorted, as a process sees them.
func (fs *FS) Files() []string { panic("disk: Files") }

// ReadFile returns a copy of a file's bytes as a process sees them.
func (fs *FS) ReadFile(path string) ([]byte, error) { panic("disk: ReadFile") }

// WriteFile makes a file with these bytes, durably, and the directories above it. It costs no virtual time.
func (fs *FS) WriteFile(path string, data []byte) error { panic("disk: WriteFile") }

// MkdirAll makes a directory and those above it, durably.
func (fs *FS) MkdirAll(path string) error { panic("disk: MkdirAll") }

// Clone forks the disk, cached and durable state, as it is now; pages are shared until written. Faults are not
// copied. The fork draws its randomness under its own host name.
func (fs *FS) Clone(host string) *FS { panic("disk: Clone") }

// String shows the tree, sorted: sizes, what is dirty, which names are not durable.
func (fs *FS) String() string { panic("disk: String") }
