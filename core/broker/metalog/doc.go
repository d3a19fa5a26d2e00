// Package metalog is the controller's shell with one voter: the log
// __cluster_metadata-0 and the machine that decides what is written to it.
//
// It owns the order decide, write, fsync, apply, answer. It never decides
// (package controller does) and never acts on what was decided: it tells its
// owner, before the answer leaves. A raft quorum will take its place; nothing
// else has to change. Caller: package broker.
//
// # Format
//
// One batch for each decision; each record's value is one metadata record of
// package meta, without key. The leader epoch grows by one with every start.
//
// # Invariants
//
//  1. Decisions are applied in the order of the log, each whole or not at all.
//  2. A decision is applied after it is durable (rule
//     controller.producer-ids-durable excepted), and answered after it is applied.
//  3. After a failed write or fsync nothing more is decided: the log has failed.
package metalog
