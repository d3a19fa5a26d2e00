// Package layout is the names and formats of Kafka's files in a log directory, and how a file is replaced durably.
//
// It owns: file names, index entries, checkpoints, partition.metadata, meta.properties, the clean-shutdown marker. Numbers
// in binary files are big-endian; text files end in a newline where Kafka writes one. It never holds a file open, and
// decides nothing: seglog says when a file is written and what a bad one means, inspect reads the same files to report.
package layout
