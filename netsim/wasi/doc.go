// Package wasi is the portable engine of the simulated operating system: it runs Go programs built for wasip1 as
// processes of a kernel, under wazero.
//
// It owns: the translation of WASI calls (snapshot preview 1, as far as Go's runtime uses them) and of the calls of
// module "netsim" (sockets, name lookup, slow disk calls; see package guest) into numbered kernel calls, and the life
// of one instance per process. It never decides anything: time, randomness, readiness and errors come from the kernel.
//
// A process that is killed leaves its guest through a panic that unwinds the instance at its current call; nothing of
// the guest runs after that.
package wasi
