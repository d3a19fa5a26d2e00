package layout

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"trialog/core/config"
	"trialog/core/kafka"
)

// Checkpoint is one row of an offset checkpoint.
type Checkpoint struct {
	Partition kafka.TopicPartition
	Offset    kafka.Offset
}

// AppendCheckpoints appends the text: version 0, number of lines, "topic partition offset" in each.
func AppendCheckpoints(b []byte, rows []Checkpoint) []byte {
	b = fmt.Appendf(b, "0\n%d\n", len(rows))
	for _, r := range rows {
		b = fmt.Appendf(b, "%s %d %d\n", r.Partition.Topic, r.Partition.Partition, r.Offset)
	}
	return b
}

// ParseCheckpoints reads what AppendCheckpoints writes, and sorts it by partition; the error names the line.
func ParseCheckpoints(text []byte) ([]Checkpoint, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) < 3 || lines[0] != "0" || lines[len(lines)-1] != "" {
		return nil, fmt.Errorf("line 1: want version 0, a count, and a newline at the end")
	}
	n, err := strconv.Atoi(lines[1])
	if err != nil || n != len(lines)-3 {
		return nil, fmt.Errorf("line 2: count %q, but %d lines follow", lines[1], len(lines)-3)
	}
	rows := make([]Checkpoint, 0, n)
	for i, line := range lines[2 : len(lines)-1] {
		f := strings.Split(line, " ")
		if len(f) != 3 {
			return nil, fmt.Errorf("line %d: %q: want topic partition offset", i+3, line)
		}
		p, errP := strconv.ParseInt(f[1], 10, 32)
		o, errO := strconv.ParseInt(f[2], 10, 64)
		if f[0] == "" || errP != nil || errO != nil || p < 0 || o < 0 {
			return nil, fmt.Errorf("line %d: %q: bad number", i+3, line)
		}
		rows = append(rows, Checkpoint{Partition: kafka.TopicPartition{Topic: f[0], Partition: int32(p)}, Offset: o})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Partition.Compare(rows[j].Partition) < 0 })
	return rows, nil
}

// AppendPartitionMetadata and ParsePartitionMetadata are partition.metadata (KIP-516); it has no newline at its end.
func AppendPartitionMetadata(b []byte, id kafka.TopicID) []byte {
	return fmt.Appendf(b, "version: 0\ntopic_id: %s", id)
}

// ParsePartitionMetadata reads what AppendPartitionMetadata writes.
func ParsePartitionMetadata(text []byte) (kafka.TopicID, error) {
	rest, ok := strings.CutPrefix(strings.TrimRight(string(text), "\n"), "version: 0\ntopic_id: ")
	if !ok {
		return kafka.TopicID{}, fmt.Errorf("%.60q: want version: 0 and topic_id", text)
	}
	return kafka.ParseTopicID(rest)
}

// Marker is the content of the clean-shutdown marker (KIP-966).
type Marker struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

// AppendMarker appends the text of the marker.
func AppendMarker(b []byte, m Marker) []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // two numbers
	}
	return append(b, text...)
}

// ParseMarker reads the marker. An empty one, of older versions, and one that cannot be read know no broker epoch.
func ParseMarker(text []byte) Marker {
	m := Marker{BrokerEpoch: kafka.NoBrokerEpoch}
	if err := json.Unmarshal(text, &m); err != nil {
		m.BrokerEpoch = kafka.NoBrokerEpoch
	}
	return m
}

// Properties is the file meta.properties of a log directory.
type Properties struct {
	ClusterID   string
	NodeID      kafka.NodeID
	DirectoryID kafka.TopicID // KIP-858; zero in version 0
}

// AppendProperties appends the text of version 1.
func AppendProperties(b []byte, p Properties) []byte {
	return fmt.Appendf(b, "version=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", p.ClusterID, p.NodeID, p.DirectoryID)
}

// ParseProperties reads versions 0 and 1.
func ParseProperties(text string) (Properties, error) {
	parsed, err := config.ParseProperties(PropertiesFile, text)
	if err != nil {
		return Properties{}, err
	}
	get := func(name string) (value string) {
		for _, p := range parsed.Pairs() {
			if p.Name == name {
				value = p.Value
			}
		}
		return value
	}
	node := get("node.id")
	switch v := get("version"); v {
	case "0":
		node = get("broker.id")
	case "1":
	default:
		return Properties{}, fmt.Errorf("version %q, want 0 or 1", v)
	}
	id, err := strconv.ParseInt(node, 10, 32)
	if err != nil || id < 0 {
		return Properties{}, fmt.Errorf("node id %q", node)
	}
	p := Properties{ClusterID: get("cluster.id"), NodeID: kafka.NodeID(id)}
	if dir := get("directory.id"); dir != "" {
		if p.DirectoryID, err = kafka.ParseTopicID(dir); err != nil {
			return Properties{}, fmt.Errorf("directory.id: %w", err)
		}
	}
	return p, nil
}
