// Package franz puts franz-go, unmodified, before a real broker process. It has tests only:
//
//	go test ./franz -v                         builds the broker from the module around this one
//	TRIALOG_BIN=/path/to/trialog go test ./franz   uses that program
//	TRIALOG_SEED=7 go test ./franz -run Kill   repeats the moments of the kills, as far as real time allows
package franz
