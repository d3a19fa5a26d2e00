package meter

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"trialog/core/wire"
)

// BenchmarkAnswer counts a Metadata answer of 5000 partitions.
func BenchmarkAnswer(b *testing.B) {
	resp := kmsg.NewPtrMetadataResponse()
	resp.Topics = make([]kmsg.MetadataResponseTopic, 1)
	resp.Topics[0].Partitions = make([]kmsg.MetadataResponseTopicPartition, 5000)
	api := New().API(wire.KeyMetadata)
	b.ReportAllocs()
	for b.Loop() {
		api.Answer(resp)
	}
}
