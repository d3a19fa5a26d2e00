package driver

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever a reader may get wrong shows in its answer.
func TestTallyTellsRecordsApart(t *testing.T) {
	job := Job{Topic: "t", Partitions: 3, Records: 6000, Start: 1_700_000_000_000}
	type read struct {
		offset, timestamp  int64
		key, value, header string
		null               bool
	}
	var sound []read // of partition 0
	for i := 0; i < job.Records; i += job.Partitions {
		v, ok := value(i)
		sound = append(sound, read{offset: int64(len(sound)), timestamp: job.Start + int64(i), key: key(i), value: v, header: "t", null: !ok})
	}
	tally := func(all []read) Partition {
		into := NewTally(job)
		for _, r := range all {
			v := []byte(r.value)
			if r.null {
				v = nil
			}
			into.Add(r.offset, r.timestamp, []byte(r.key), v, r.header)
		}
		return into.Partition
	}
	want := Want(job).Partitions[0]
	assert.Equal(t, want, tally(sound))
	for what, change := range map[string]func(all []read) []read{
		"one is lost":        func(all []read) []read { return slices.Delete(all, 7, 8) },
		"the first is lost":  func(all []read) []read { return all[1:] },
		"the last is lost":   func(all []read) []read { return all[:len(all)-1] },
		"one is there twice": func(all []read) []read { return slices.Insert(all, 7, all[7]) },
		"two change places":  func(all []read) []read { all[7], all[8] = all[8], all[7]; return all },
		"values changed":     func(all []read) []read { all[7].value, all[8].value = all[8].value, all[7].value; return all },
		"an offset":          func(all []read) []read { all[7].offset = 100_000; return all },
		"a timestamp":        func(all []read) []read { all[7].timestamp++; return all },
		"a key":              func(all []read) []read { all[7].key = "k"; return all },
		"a header":           func(all []read) []read { all[7].header = fmt.Sprint([]string{"t"}); return all },
		"a null": func(all []read) []read {
			i := slices.IndexFunc(all, func(r read) bool { return r.null })
			all[i].null = false
			return all
		},
	} {
		assert.NotEqual(t, want, tally(change(slices.Clone(sound))), what)
	}
}
