package sweep

import (
	"fmt"
	"slices"

	"trialog/netsim/disk"
)

// pattern is one way to lose what is not durable.
type pattern struct {
	name string
	cut  disk.Cut
}

// patterns are all ways in which a disk is cut: nothing and everything lost; all names, all data, all pages or all sizes;
// torn pages; the data of each file alone, and all but it; each name alone; and seeded subsets.
func patterns(fs *disk.FS, subsets int) []pattern {
	unsynced := fs.Unsynced()
	list := []pattern{{"nothing is lost", choose(kept)}}
	if len(unsynced) == 0 {
		return list
	}
	fate := func(name string, of func(disk.Unsynced) disk.Fate) {
		list = append(list, pattern{name, choose(of)})
	}
	fate("all that is not fsynced is lost", lose(func(disk.Unsynced) bool { return true }))
	fate("names are lost", lose(func(u disk.Unsynced) bool { return u.Part == disk.Name }))
	fate("data is lost", lose(func(u disk.Unsynced) bool { return u.Part != disk.Name }))
	fate("pages are lost, sizes are kept", lose(func(u disk.Unsynced) bool { return u.Part == disk.Page }))
	fate("sizes are lost", lose(func(u disk.Unsynced) bool { return u.Part == disk.Size }))
	fate("the last page of each file is torn", func(u disk.Unsynced) disk.Fate {
		if u.Part == disk.Page && u.Last {
			return disk.Torn
		}
		return disk.Kept
	})
	fate("every page is torn", func(disk.Unsynced) disk.Fate { return disk.Torn })
	var inodes []uint64
	for _, u := range unsynced {
		switch {
		case u.Part == disk.Name:
			fate("lost: "+u.Path, lose(func(v disk.Unsynced) bool { return v.Part == disk.Name && v.Op == u.Op }))
		case !slices.Contains(inodes, u.Inode):
			inodes = append(inodes, u.Inode)
			fate("data of "+u.Path+" is lost", lose(func(v disk.Unsynced) bool { return v.Part != disk.Name && v.Inode == u.Inode }))
			fate("data of all but "+u.Path+" is lost", lose(func(v disk.Unsynced) bool { return v.Part != disk.Name && v.Inode != u.Inode }))
		}
	}
	for i := range subsets {
		list = append(list, pattern{fmt.Sprintf("subset %d is lost", i+1), disk.Cut{Lose: disk.LoseSome, Torn: i%2 == 1}})
	}
	return list
}

func kept(disk.Unsynced) disk.Fate { return disk.Kept }

func choose(of func(disk.Unsynced) disk.Fate) disk.Cut { return disk.Cut{Choose: of} }

func lose(which func(disk.Unsynced) bool) func(disk.Unsynced) disk.Fate {
	return func(u disk.Unsynced) disk.Fate {
		if which(u) {
			return disk.Lost
		}
		return disk.Kept
	}
}
