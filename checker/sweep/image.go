package sweep

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
	"strings"

	"trialog/netsim/disk"
)

// image is what a crash left of a log directory.
type image struct {
	entries []entry
}

// entry is a file or directory, by its path below the log directory.
type entry struct {
	path string
	dir  bool
	data []byte
}

// digest tells images apart.
type digest [sha256.Size]byte

// imageOf cuts the power of a fork and takes what is left below the log directory.
func imageOf(fs *disk.FS, p pattern) *image {
	fork := fs.Clone(hostName + "/" + p.name)
	fork.PowerCut(p.cut)
	im := &image{}
	fork.Each(dataDir, func(path string, dir bool, data []byte) {
		if path != dataDir {
			im.entries = append(im.entries, entry{strings.TrimPrefix(path, dataDir+"/"), dir, data})
		}
	})
	return im
}

func (im *image) digest() digest {
	h := sha256.New()
	for _, e := range im.entries {
		var n [9]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(e.data)))
		if e.dir {
			n[8] = 1
		}
		h.Write([]byte(e.path))
		h.Write([]byte{0})
		h.Write(n[:])
		h.Write(e.data)
	}
	return digest(h.Sum(nil))
}

// put writes the image to a disk, durably.
func (im *image) put(fs *disk.FS, at string) error {
	if err := fs.MkdirAll(at); err != nil {
		return err
	}
	for _, e := range im.entries {
		var err error
		if to := path.Join(at, e.path); e.dir {
			err = fs.MkdirAll(to)
		} else {
			err = fs.WriteFile(to, e.data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// String lists the files and their sizes on one line.
func (im *image) String() string {
	var words []string
	for _, e := range im.entries {
		if !e.dir {
			words = append(words, fmt.Sprintf("%s:%d", strings.TrimLeft(strings.ReplaceAll(e.path, "/0000000000000000", "/"), "/"), len(e.data)))
		}
	}
	return strings.Join(words, " ")
}
