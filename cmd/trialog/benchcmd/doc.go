// Package benchcmd holds `trialog bench`: how fast a broker is, what it costs, and why. It drives any broker of Kafka's
// protocol with one raw client on one connection, so that the client costs little, and reads the processor time of broker
// processes from /proc. Nothing here passes or fails: a figure is printed, never judged as an error.
//
// All figures of one table come from one run: variants take turns, round by round, and a value is the median of its
// rounds. GiB are of record batches as they are before compression.
package benchcmd
