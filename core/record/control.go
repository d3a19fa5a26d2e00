package record

// ControlType is the kind of a control record.
type ControlType int16

// Control record types.
const (
	ControlAbort        ControlType = 0
	ControlCommit       ControlType = 1
	ControlLeaderChange ControlType = 2 // (KIP-595)
)

// ParseControl reads the type from the key of a control record: version i16, type i16. The caller has seen that the
// batch IsControl. Unknown types are returned as they are; readers must skip them. The error is an [*Error] with
// FaultRecord.
func ParseControl(r *Record) (ControlType, error) { panic("record: ParseControl") }
