package serve

// unlimitedRate is a rate from which on nobody looks at the clock: a connection
// in a nanosecond.
const unlimitedRate = 1_000_000_000

// creation counts the connections that may be accepted: so many in a second, and
// as many at once after a second without any.
type creation struct {
	fullNs int64 // when as many as in a second may be accepted again
}

// take takes a place and returns 0, or the ns after which to ask again, a second
// at most: the rate may have changed by then.
func (c *creation) take(nowNs int64, rate int) int64 {
	const second = int64(1e9)
	if rate <= 0 {
		return second
	}
	each := second / int64(rate)
	full := max(c.fullNs, nowNs) + each
	if wait := full - nowNs - second; wait > 0 {
		return min(wait, second)
	}
	c.fullNs = full
	return 0
}
