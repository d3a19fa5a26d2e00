// Package tools runs Kafka's own command-line tools against a real Kafka and against Trialog, the same commands in the
// same order, and compares what they print and how they end. It has tests only. testdata/commands.txt is the list; ../setup
// fetches the tools and the Kafka.
//
//	go test ./tools -v                every command and what it printed
package tools
