// Package exporter shows a broker to Prometheus and to whoever asks whether it lives. It owns the names of metrics and the
// HTTP server, reads what package meter counted and what the broker says of itself, and changes nothing. It is linked into
// the native program only (cmd/trialog), never into a guest.
//
// Names are those that Prometheus' JMX exporter makes of Kafka's MBeans by the rules that Kafka's users have: lower case,
// joined by underscores, PerSec becomes _total, percentiles become quantiles of a summary. Meanings are Kafka's, with what
// one broker with single replicas has of them; metrics that start with trialog_ have no counterpart.
//
// A scrape is bounded: topics and partitions beyond topicsMax and partitionsMax, in the order of names, have no series of
// their own (trialog_metrics_left_out says how many), scrapesMax scrapes run at one time, and the server takes few
// connections, for a limited time each.
package exporter
