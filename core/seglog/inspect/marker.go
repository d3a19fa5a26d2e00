package inspect

import "encoding/binary"

// EndTxnMarker is the value of a control record that commits or aborts a transaction (KIP-98).
type EndTxnMarker struct {
	Version          int16
	CoordinatorEpoch int32
}

// ParseMarker reads the value: version i16, coordinator epoch i32; later versions may append.
func ParseMarker(value []byte) (m EndTxnMarker, ok bool) {
	if len(value) < 6 {
		return m, false
	}
	return EndTxnMarker{Version: int16(binary.BigEndian.Uint16(value)), CoordinatorEpoch: int32(binary.BigEndian.Uint32(value[2:]))}, true
}
