package event

import "fmt"

// field is a set of an event's fields.
type field uint16

const (
	fTime field = 1 << iota
	fProc
	fKind
	fNode
	fTopic
	fPartition
	fEpoch
	fBase
	fNext
	fOffset
	fPID
	fPEpoch
	fSeq
	fLastSeq
	fText

	fAlways   = fKind | fNode
	fOptional = fTime | fProc | fText
	fTP       = fTopic | fPartition
	fProducer = fPID | fPEpoch | fSeq | fLastSeq
)

// keys are in the order of the bits of field, and of the text.
var keys = [...]string{
	"time", "proc", "kind", "node", "topic", "partition", "epoch", "base", "next", "offset", "pid", "pepoch", "seq",
	"lastseq", "text",
}

// kinds has the name and the fields that must be present, beside kind and node.
var kinds = [...]struct {
	name   string
	fields field
}{
	Start:    {"start", 0},
	Stop:     {"stop", 0},
	Leader:   {"leader", fTP | fEpoch | fNext},
	Append:   {"append", fTP | fEpoch | fBase | fNext | fProducer},
	Flush:    {"flush", fTP | fNext},
	HW:       {"hw", fTP | fOffset},
	Truncate: {"truncate", fTP | fNext},
	Recover:  {"recover", fTP | fNext},
	Metadata: {"metadata", fText},
	RulesOff: {"rules-off", fText},
	Assert:   {"assert", fText},
}

// Kinds lists all kinds in order.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds)-1)
	for k := Start; int(k) < len(kinds); k++ {
		all = append(all, k)
	}
	return all
}

// Valid reports a kind that exists.
func (k Kind) Valid() bool { return k >= Start && int(k) < len(kinds) }

// String is the name in the text.
func (k Kind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// ParseKind finds a kind by name.
func ParseKind(name string) (Kind, bool) {
	for k := Start; int(k) < len(kinds); k++ {
		if kinds[k].name == name {
			return k, true
		}
	}
	return 0, false
}
