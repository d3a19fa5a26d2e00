package logcmd

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"trialog/core/record"
)

// How many replacement characters Java prints for bytes that are no UTF-8.
func TestJavaString(t *testing.T) {
	for bytes, want := range map[string]int{
		"\xed\xa0\x80": 1, "\xe0\x80\x80": 3, "\xf0\x9f\x92": 1, "\xf4\x90\x80\x80": 4, "\xc0\xaf": 2, "\xf5": 1, "\xe2\x82": 1,
		"\xe2\x82a": 1, "\xf0\x9f": 1, "\xf0\x80\x80\x80": 4, "\x80": 1, "ä€😀": 0, "": 0,
	} {
		got := string(javaString([]byte("<" + bytes + ">")))
		require.Equal(t, want, strings.Count(got, replacement), "%q: %q", bytes, got)
		require.True(t, strings.HasPrefix(got, "<") && strings.HasSuffix(got, ">"), "%q: %q", bytes, got)
	}
}

// Control records as KRaft and a transaction coordinator write them.
func TestControlText(t *testing.T) {
	id := func(b byte) string { return base64.RawURLEncoding.EncodeToString(append(make([]byte, 15), b)) }
	for _, c := range []struct {
		kind        byte
		value, want string
	}{
		{0, "\x00\x00\x00\x00\x00\x07", " endTxnMarker: ABORT coordinatorEpoch: 7"},
		{1, "\x00\x00\x00\x00\x00\x07", " endTxnMarker: COMMIT coordinatorEpoch: 7"},
		{2, "\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x01\x00\x02\x00\x00\x00\x01\x00\x00",
			` LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[{"voterId":1}]}`},
		{2, "\x00\x01\x00\x00\x00\x01\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 15) + "\x09\x00\x01\x00",
			` LeaderChange: {"version":1,"leaderId":1,"voters":[{"voterId":1,"voterDirectoryId":"` + id(9) + `"}],"grantingVoters":[]}`},
		{3, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00", ` SnapshotHeader {"version":0,"lastContainedLogTimestamp":5}`},
		{4, "\x00\x00\x00", ` SnapshotFooter {"version":0}`},
		{5, "\x00\x00\x00\x01\x00", ` KRaftVersion {"version":0,"kRaftVersion":1}`},
		{9, "", " controlType: UNKNOWN(9)"},
	} {
		got, err := controlText(&record.Record{Key: []byte{0, 0, 0, c.kind}, Value: []byte(c.value)})
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, torn := range []string{"", "\x00", "\x00\x00\x00\x00\x00\x01\xff"} {
		_, err := controlText(&record.Record{Key: []byte{0, 0, 0, 2}, Value: []byte(torn)})
		require.Error(t, err, "%q", torn)
	}
}
