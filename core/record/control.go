package record

import "encoding/binary"

// ControlType is the kind of a control record.
type ControlType int16

// Control record types.
const (
	ControlAbort        ControlType = 0
	ControlCommit       ControlType = 1
	ControlLeaderChange ControlType = 2 // (KIP-595)
)

// controlKeySize is version i16, type i16; later versions may append.
const controlKeySize = 4

// ParseControl reads the type from the key of a control record: version i16, type i16. The caller has seen that the
// batch IsControl. Unknown types are returned as they are; readers must skip them. The error is an [*Error] with
// FaultRecord.
func ParseControl(r *Record) (ControlType, error) {
	if len(r.Key) < controlKeySize {
		return 0, &Error{Fault: FaultRecord, Have: int64(len(r.Key)), Want: controlKeySize, Detail: "control record key"}
	}
	if version := int16(binary.BigEndian.Uint16(r.Key)); version < 0 {
		return 0, &Error{Fault: FaultRecord, Have: int64(version), Detail: "control record version"}
	}
	return ControlType(binary.BigEndian.Uint16(r.Key[2:])), nil
}
