// Package table puts every mainstream Kafka client before one broker process and writes down what worked. It has tests
// only:
//
//	go test ./table                        all of them, and the table must be testdata/table.txt
//	go test ./table -run Clients/sarama    one of them
//	go test ./table -rewrite               writes testdata/table.txt
//
// Clients that are not written in Go need ../setup first, which fetches what the lock files name.
package table
