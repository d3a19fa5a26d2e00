// Package replication is the family of published models of Kafka's replication as one executable relation: one partition,
// a controller, replicas that act in atomic steps on each other's state.
//
// It is the granularity of Jason Gustafson's TLA+ specifications (hachikuji/kafka-specification, 2018-2020, modules
// KafkaTruncateToHighWatermark, Kip101, Kip279, Kip320FirstTry, Kip320), told anew: no messages but the requests in which
// the controller names a leader, any of which may be processed late or never; a failure is the controller taking a
// replica out of the ISR; nobody restarts or loses data. What differs between the versions of the protocol is a choice in
// [Flags], so a guard can also be weakened alone (Mutants).
//
// Its states are explored by checker/explore, and its counts compare with those of TLC and rumur on the same model.
package replication

import "fmt"

// Truncation is what a replica that becomes a follower does to its log.
type Truncation int

// Ways of truncating.
const (
	TruncateToHW    Truncation = iota // to its own high watermark (before KIP-101)
	TruncateOneShot                   // to one answer of the leader about the epoch of its last record (KIP-101)
	TruncateToMatch                   // to where its log agrees with the leader's (KIP-279)
	TruncateOnFetch                   // not at all; later, when a fetch finds a record of another epoch (KIP-320, first try)
)

// Fence is what a leader demands of a follower before it counts what that one does.
type Fence int

// Fences.
const (
	FenceNone      Fence = iota
	FenceLastEpoch       // the last record of the follower has the epoch that the leader's has at that offset
	FenceEpoch           // the follower is in the leader's epoch (KIP-320)
)

// Flags are the mechanisms of one version of the protocol.
type Flags struct {
	Truncate       Truncation
	TruncateFenced bool // a follower truncates only against a leader that is in the epoch of the request
	Fetch          Fence
	AdvanceHW      Fence
	Shrink         Fence
	Expand         Fence
	// EpochStart lets a follower into the ISR only when the leader's HW has reached the start of its own epoch.
	EpochStart bool
}

// Variant is a named choice of flags.
type Variant struct {
	Name  string
	Doc   string
	Flags Flags
}

var kip320 = Flags{
	Truncate: TruncateToMatch, TruncateFenced: true, Fetch: FenceEpoch, AdvanceHW: FenceEpoch, Shrink: FenceEpoch,
	Expand: FenceEpoch, EpochStart: true,
}

// Variants are the published versions, oldest first.
var Variants = []Variant{
	{"truncate-to-hw", "followers truncate to their own high watermark (before KIP-101)", Flags{Truncate: TruncateToHW}},
	{"kip101", "followers ask once where the epoch of their last record ends", Flags{Truncate: TruncateOneShot}},
	{"kip279", "followers truncate to where their log agrees with the leader's", Flags{Truncate: TruncateToMatch}},
	{"kip320-first-try", "followers truncate only when a fetch meets a record of another epoch", Flags{
		Truncate: TruncateOnFetch, Fetch: FenceLastEpoch, AdvanceHW: FenceLastEpoch, Shrink: FenceLastEpoch,
		Expand: FenceLastEpoch, EpochStart: true,
	}},
	{"kip320", "everything between leader and follower is fenced by the leader epoch", kip320},
}

// Mutants are kip320 with one guard weakened.
var Mutants = []Variant{
	{"truncation-unfenced", "a follower truncates against a leader of any epoch", but(func(f *Flags) { f.TruncateFenced = false })},
	{"truncation-one-shot", "fenced, but by KIP-101's single answer", but(func(f *Flags) { f.Truncate = TruncateOneShot })},
	{"truncation-to-hw", "fenced, but to the follower's own high watermark", but(func(f *Flags) { f.Truncate = TruncateToHW })},
	{"hw-unfenced", "the high watermark counts followers of any epoch", but(func(f *Flags) { f.AdvanceHW = FenceNone })},
	{"expand-before-epoch-start", "the ISR takes a follower before the epoch's start is committed",
		but(func(f *Flags) { f.EpochStart = false })},
	{"expand-unfenced", "the ISR takes a follower of any epoch that reached the high watermark",
		but(func(f *Flags) { f.Expand, f.EpochStart = FenceNone, false })},
	{"fetch-unfenced", "the leader serves followers of any epoch", but(func(f *Flags) { f.Fetch = FenceNone })},
}

func but(weaken func(*Flags)) Flags {
	f := kip320
	weaken(&f)
	return f
}

// FlagsOf finds a variant or a mutant by its name.
func FlagsOf(name string) (Flags, error) {
	var names []string
	for _, list := range [][]Variant{Variants, Mutants} {
		for _, v := range list {
			if v.Name == name {
				return v.Flags, nil
			}
			names = append(names, v.Name)
		}
	}
	return Flags{}, fmt.Errorf("variant %q: want one of %v", name, names)
}
