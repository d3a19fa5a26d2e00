// Package cleaning is one round of compaction: it reads segments, decides with package compact, and writes the files of the
// segments that take their place.
//
// It owns: reading batches in order, the limits of memory and speed, the files <base>.log.cleaned, .index.cleaned,
// .timeindex.cleaned and .txnindex.cleaned, which are durable when a group is handed over. It never renames or removes a
// file that somebody reads, never takes a lock, and knows no Log: seglog gives it segments, and is called for each group of
// them that can be replaced. It keeps no time: now is a value, and whoever paces it does the waiting.
//
// Memory: the map is at most Limits.MapBytes, each of the two buffers Limits.BufferBytes, unless a batch is larger: then
// they grow to the batch and are given back after its segment (KAFKA-6834). A compressed batch is held uncompressed, too.
package cleaning
