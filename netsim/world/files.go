package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"trialog/netsim/disk"
)

// install puts on a new or wiped disk what every system has: /tmp, and how names are resolved. Guests that read these
// files learn from them what guests learn that ask the network.
func (w *world) install(n *node) error {
	if err := n.disk.MkdirAll("/tmp"); err != nil {
		return fmt.Errorf("world: %w", err)
	}
	for _, f := range []struct{ name, text string }{
		{"/etc/hosts", w.hosts()},
		{"/etc/hostname", n.spec.Name + "\n"},
		{"/etc/nsswitch.conf", "hosts: files\n"},
		{"/etc/resolv.conf", ""},
	} {
		text := []byte(f.text)
		if own, ok := n.spec.Files[f.name]; ok {
			text = own
		}
		if err := seedFile(n.disk, f.name, text); err != nil {
			return err
		}
	}
	return nil
}

// hosts is /etc/hosts. Each name stands there in its absolute form too, which Go's resolver looks up as it is.
func (w *world) hosts() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost localhost.\n")
	for _, n := range w.nodes {
		if !strings.EqualFold(n.spec.Name, "localhost") {
			fmt.Fprintf(&b, "%d.%d.%d.%d %[5]s %[5]s.\n", n.host.IP[0], n.host.IP[1], n.host.IP[2], n.host.IP[3], n.spec.Name)
		}
	}
	return b.String()
}

func seedFiles(fs *disk.FS, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := seedFile(fs, name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// seedFile makes a file and the directories above it, durably.
func seedFile(fs *disk.FS, name string, text []byte) error {
	if err := fs.WriteFile(name, text); err != nil {
		return fmt.Errorf("world: file %s: %w", name, err)
	}
	return nil
}
