package tcp

import "time"

// Host names in this file must be known; an unknown one panics.

// HostDown makes a host silent, as a power cut does: its connections and listeners are gone, nobody is told. Call it
// before its processes are killed.
func (n *Network) HostDown(host string) { panic("tcp: HostDown") }

// HostUp undoes HostDown. What peers of lost connections send from now on is answered with a reset.
func (n *Network) HostUp(host string) { panic("tcp: HostUp") }

// Cut drops everything from a to b. Nothing else is affected: b may still be heard by a.
func (n *Network) Cut(a, b string) { panic("tcp: Cut") }

// Heal undoes Cut; what was dropped is sent again after a seeded delay.
func (n *Network) Heal(a, b string) { panic("tcp: Heal") }

// Partition cuts both directions between hosts of different groups.
func (n *Network) Partition(groups ...[]string) { panic("tcp: Partition") }

// HealAll undoes every Cut, Hold, Delay, Throttle and Lossy, connections included.
func (n *Network) HealAll() { panic("tcp: HealAll") }

// Hold stops segments from a to b without losing them or letting anyone give up; Release lets them go on.
func (n *Network) Hold(a, b string) { panic("tcp: Hold") }

// Release undoes Hold.
func (n *Network) Release(a, b string) { panic("tcp: Release") }

// Delay adds to the latency from a to b; 0 ends it.
func (n *Network) Delay(a, b string, d time.Duration) { panic("tcp: Delay") }

// Throttle limits the bandwidth from a to b; 0 restores the default.
func (n *Network) Throttle(a, b string, bytesPerSecond int64) { panic("tcp: Throttle") }

// Lossy loses percent of the segments from a to b, which TCP turns into delay and, now and then, a reset; 0 ends it.
func (n *Network) Lossy(a, b string, percent int) { panic("tcp: Lossy") }

// ResetLink resets every connection between a and b, at both ends, at once.
func (n *Network) ResetLink(a, b string) { panic("tcp: ResetLink") }

// HoldConn, ReleaseConn and ResetConn act on the nth connection dialed from a to b since the start (from 1; 0 means
// all that are open), both directions. They answer how many open connections they found.
func (n *Network) HoldConn(a, b string, nth int) int { panic("tcp: HoldConn") }

// ReleaseConn undoes HoldConn.
func (n *Network) ReleaseConn(a, b string, nth int) int { panic("tcp: ReleaseConn") }

// ResetConn resets the connections at both ends.
func (n *Network) ResetConn(a, b string, nth int) int { panic("tcp: ResetConn") }
