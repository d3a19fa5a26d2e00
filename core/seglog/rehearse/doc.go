// Package rehearse does with a log directory what the next start would do, on a copy, and tells what came of it: which
// files were removed, cut, made or written anew, where each log begins and ends, and what was refused.
//
// It owns nothing of recovery: seglog recovers the copy, so that what is told is what will happen. It changes nothing in the
// directory itself, which no broker may be writing to meanwhile. One partition is copied at a time (by reflinks, where the
// file system has them), so the scratch directory needs room for the largest.
//
// What a broker does besides, by its metadata, is not rehearsed: partitions that no topic claims are set aside, deleted
// topics removed, retention and compaction applied.
package rehearse
