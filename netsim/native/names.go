//go:build linux && amd64

package native

import "strconv"

// callName names a call that is refused, where it is known, by its number.
func callName(nr uint64) string {
	if name := callNames[nr]; name != "" {
		return name + " (" + strconv.FormatUint(nr, 10) + ")"
	}
	return strconv.FormatUint(nr, 10)
}
