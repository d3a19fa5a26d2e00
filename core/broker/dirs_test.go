package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trialog/core/kafka"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// twoDirs is a broker with two log directories and a topic t of four partitions, each with one record, and which of them
// lie in the second directory.
func twoDirs(t *testing.T) (in *instance, one, two string, second map[int32]bool) {
	one, two = filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	in = start(t, one, "log.dirs="+one+","+two)
	c := in.dial()
	c.create("t", 4, "internal.segment.bytes", "1000")
	second = map[int32]bool{}
	for p := range int32(4) {
		require.Zero(t, c.produce(-1, "t", p, batch(fmt.Sprint(p))).ErrorCode)
		if _, err := os.Stat(filepath.Join(two, fmt.Sprintf("t-%d", p))); err == nil {
			second[p] = true
		}
	}
	require.NotEmpty(t, second)
	require.Less(t, len(second), 4)
	return in, one, two, second
}

// failSecond makes the next roll in the second directory fail, and produces until it does.
func failSecond(t *testing.T, in *instance, two string, second map[int32]bool) {
	require.NoError(t, os.RemoveAll(two))
	for p := range second {
		require.Eventually(t, func() bool {
			return code(in.dial().produce(1, "t", p, batch(strings.Repeat("x", 900)))) == kafka.ErrKafkaStorageError
		}, safety, 1)
		return
	}
}

func describeDirs(c *client) []kmsg.DescribeLogDirsResponseDir {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = 4
	return ask[*kmsg.DescribeLogDirsResponse](c, req).Dirs
}

// A failed log directory takes its partitions offline, whichever of them was asked, and no others.
func TestR28DirectoryFails(t *testing.T) {
	in, one, two, second := twoDirs(t)
	c := in.dial()
	failSecond(t, in, two, second)
	for p := range int32(4) {
		want := kafka.ErrNone
		if second[p] {
			want = kafka.ErrKafkaStorageError
		}
		eventually(t, "every partition of the directory", func() bool { return kafka.ErrorCode(c.fetch("t", p, 0).ErrorCode) == want })
		require.Equal(t, want, code(c.produce(-1, "t", p, batch("more"))))
		require.EqualValues(t, want, c.listOffset("t", p, -1).ErrorCode)
		require.Equal(t, !second[p], in.leads(in.table.TopicNamed("t").ID, p))
	}
	for _, p := range ask[*kmsg.MetadataResponse](c, metadata(12, "t")).Topics[0].Partitions {
		require.Equal(t, second[p.Partition], p.Leader == -1)
		require.Equal(t, second[p.Partition], len(p.OfflineReplicas) == 1)
	}
	dirs := describeDirs(c)
	require.Len(t, dirs, 2)
	require.Zero(t, dirs[0].ErrorCode)
	require.EqualValues(t, kafka.ErrKafkaStorageError, dirs[1].ErrorCode)
	require.Empty(t, dirs[1].Topics)
	require.Len(t, in.OfflineDirs(), 1)
	require.Equal(t, 1, strings.Count(in.log.String(), "a log directory failed"))
	c.create("u", 3)
	for p := range int32(3) {
		require.Zero(t, c.produce(-1, "u", p, batch("x")).ErrorCode)
		require.DirExists(t, filepath.Join(one, fmt.Sprintf("u-%d", p)), "what is new is made where it can be")
	}
	require.Empty(t, in.Broker.failed, "the broker goes on")
	in.end()
	require.FileExists(t, filepath.Join(one, ".kafka_cleanshutdown"))
}

// A partition whose directory failed is not made anew elsewhere at a restart, nor in an empty directory that has taken its
// place; when the disk is back, so are the records.
func TestR28NotMadeAnew(t *testing.T) {
	in, one, two, second := twoDirs(t)
	in.crash()
	disk := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Rename(two, disk))
	dirs := "log.dirs=" + one + "," + two

	offline := func(why string) {
		in := start(t, one, dirs)
		c := in.dial()
		for p := range int32(4) {
			want := kafka.ErrNone
			if second[p] {
				want = kafka.ErrKafkaStorageError
				require.NoDirExists(t, filepath.Join(one, fmt.Sprintf("t-%d", p)))
			}
			require.Equal(t, want, code(c.produce(-1, "t", p, batch("x"))), why)
		}
		require.EqualValues(t, kafka.ErrKafkaStorageError, describeDirs(c)[1].ErrorCode)
		require.Contains(t, in.log.String(), "a log directory is offline")
		in.end()
	}
	require.NoError(t, os.WriteFile(two, nil, 0o644))
	offline("no directory at all")
	require.NoError(t, os.Remove(two))
	offline("an empty directory")
	require.NoFileExists(t, filepath.Join(two, "meta.properties"))
	offline("and again")

	require.NoError(t, os.RemoveAll(two))
	require.NoError(t, os.Rename(disk, two))
	in = start(t, one, dirs)
	for p := range second {
		require.Equal(t, []string{fmt.Sprintf("0=%d", p)}, in.dial().readAll("t", p))
	}
}

// A topic that was deleted and made again while a disk was away: what is on the disk is the old one's and goes.
func TestR28TopicMadeAgain(t *testing.T) {
	in, one, two, second := twoDirs(t)
	disk := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.CopyFS(disk, os.DirFS(two)))
	failSecond(t, in, two, second)
	c := in.dial()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{"t"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	c.create("t", 4)
	for p := range int32(4) {
		require.Zero(t, c.produce(-1, "t", p, batch(fmt.Sprint("new ", p))).ErrorCode)
	}
	in.end()
	require.NoError(t, os.RemoveAll(two))
	require.NoError(t, os.Rename(disk, two))
	for range 2 {
		in = start(t, one, "log.dirs="+one+","+two)
		for p := range int32(4) {
			require.Equal(t, []string{fmt.Sprintf("0=new %d", p)}, in.dial().readAll("t", p))
			require.NoDirExists(t, filepath.Join(two, fmt.Sprintf("t-%d", p)))
		}
		require.Empty(t, in.OfflineDirs())
		in.end()
	}
}

// A directory that is new is used at once if nothing is missing, and when the topics are deleted of which something is.
func TestR28NewDirectory(t *testing.T) {
	in, one, two, second := twoDirs(t)
	three := filepath.Join(t.TempDir(), "three")
	in.end()
	in = start(t, one, "log.dirs="+one+","+two+","+three)
	c := in.dial()
	c.create("u", 6)
	require.FileExists(t, filepath.Join(three, "meta.properties"))
	found, err := filepath.Glob(filepath.Join(three, "u-*"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{"u"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	in.end()

	require.NoError(t, os.RemoveAll(two))
	in = start(t, one, "log.dirs="+one+","+two)
	for p := range second {
		require.Equal(t, kafka.ErrKafkaStorageError, code(in.dial().produce(-1, "t", p, batch("x"))))
	}
	req.TopicNames = []string{"t"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](in.dial(), req).Topics[0].ErrorCode)
	in.end()
	in = start(t, one, "log.dirs="+one+","+two)
	require.FileExists(t, filepath.Join(two, "meta.properties"))
	require.Zero(t, describeDirs(in.dial())[1].ErrorCode)
	in.dial().create("t", 4)
}

// A broker without its metadata does not start.
func TestMetadataDirectoryFails(t *testing.T) {
	in, one, two, _ := twoDirs(t)
	in.end()
	require.NoError(t, os.RemoveAll(one))
	require.NoError(t, os.WriteFile(one, nil, 0o644))
	b, err := New(loadConfig(t, one, "log.dirs="+one+","+two), Options{})
	require.NoError(t, err)
	require.ErrorContains(t, b.Start(), "log directory "+one+", which holds the metadata, failed")
	b, err = New(loadConfig(t, one), Options{})
	require.NoError(t, err)
	require.ErrorContains(t, b.Start(), "log directory "+one+" failed, there is no other")
}
