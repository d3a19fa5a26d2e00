// Package disk is one host's simulated filesystem: what a process sees through the page cache, and, kept apart from
// it, what a power cut would leave.
//
// It owns: inodes, directories, open files, the durable state, and every fault of a disk. It never: knows what the
// files mean, reads the wall clock, or decides when a fault strikes (package world does, from a plan).
//
// Three things become durable separately: the data of a file, page by page; its size; and names, operation by
// operation. fsync of a file makes its data and size durable as they were when it was called, not its name. fsync of a
// directory makes the operations on its entries durable. A power cut keeps all of that and, by seed, any part of the
// rest. A killed process leaves the page cache alone.
//
// Pages are 4 KiB, sectors 512 bytes. Space is given out in pages: to files as they are written, one to each directory, and
// one more for every 64 names in it. The page cache and the durable state share a page until one of them changes it.
//
// Invariants:
//
//	D1  what was fsynced before a power cut is there after it
//	D2  after a power cut the page cache equals the durable state
//	D3  a file or directory has at most one name, in the page cache and in the durable state
//	D4  a rename is durable as a whole or not at all
//	D5  bytes that no kept page covers read as zeros
package disk
