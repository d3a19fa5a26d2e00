// Package config is the one table of settings: name, type, default, validator, scope, dynamic or not, doc.
//
// It owns Kafka's names and defaults, our own trialog.* settings, the reading of java properties, and the typed
// structs [Broker] and [Topic] that other rooms use. It never opens a file (the caller passes text), never stores
// what was altered (meta does, as sorted pairs), and never acts on a value.
//
// A topic's setting is found in this order: the topic's own pair, its broker-level synonym(s) in server.properties,
// the default. A key that Kafka or we do not know is a warning, as in Kafka, but an unknown trialog.* key is an error:
// a mistyped rule must not pass for an experiment.
package config
