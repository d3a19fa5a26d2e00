package clusterapi

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSoftwareName(t *testing.T) {
	for _, good := range []string{"a", "Z", "7", "apache-kafka-java", "3.9.1", "a-.-b"} {
		assert.True(t, softwareName(good), good)
	}
	for _, bad := range []string{"", "-", ".", "-a", "a-", ".a", "a.", "a b", "a_b", "a\n", "é"} {
		assert.False(t, softwareName(bad), bad)
	}
}
