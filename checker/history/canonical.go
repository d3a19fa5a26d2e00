package history

import (
	"math"
	"strings"
)

// canonical reads a line that has exactly the form of Append: its keys in its order, no white space, text of printable
// ASCII without escapes, integers of up to 18 digits. That is almost every line of a run, and costs a small part of what
// the library takes. It never guesses: what is not of that form is bad, and Parse asks the library. Strings are parts of
// the line.
type canonical struct {
	line string
	pos  int  // everything before it has been read; no string is cut for that, which the garbage collector would hear of
	bad  bool // sticky
}

// op reads the whole line. ok says that it is canonical; then the library would read the same.
func (c *canonical) op() (op Op, has given, ok bool) {
	op = absent
	has.time, has.id = true, true
	op.Index = c.want(`{"index":`).integer()
	op.Time = c.want(`,"time":`).integer()
	op.Proc = c.want(`,"proc":`).text()
	op.Process = int(c.want(`,"process":`).within(math.MinInt, math.MaxInt))
	op.ID = c.want(`,"id":`).integer()
	op.Type = Type(c.want(`,"type":`).text())
	op.F = F(c.want(`,"f":`).text())
	if c.next(`,"topic":`) {
		op.Topic = c.text()
		op.Partition = int32(c.want(`,"partition":`).within(math.MinInt32, math.MaxInt32))
	}
	c.produce(&op, &has)
	if c.next(`,"offset":`) {
		op.Offset, has.offset = c.integer(), true
	}
	c.fetch(&op)
	if c.next(`,"error":`) {
		op.Error = c.text()
	}
	if c.next(`,"corrupt":`) {
		op.Corrupt = c.text()
	}
	op.Final = c.next(`,"final":true`)
	c.want(`}`)
	return op, has, !c.bad && c.pos == len(c.line)
}

func (c *canonical) produce(op *Op, has *given) {
	if c.next(`,"values":[`) {
		op.Values = c.values()
	}
	if c.next(`,"acks":`) {
		op.Acks = int(c.within(math.MinInt, math.MaxInt))
	}
	op.Idempotent = c.next(`,"idempotent":true`)
	op.Retried = c.next(`,"retried":true`)
	if c.next(`,"pid":`) {
		op.PID, has.pid = c.integer(), true
	}
	if c.next(`,"pepoch":`) {
		op.PEpoch, has.pepoch = int16(c.within(math.MinInt16, math.MaxInt16)), true
	}
	if c.next(`,"seq":`) {
		op.Seq, has.seq = int32(c.within(math.MinInt32, math.MaxInt32)), true
	}
}

func (c *canonical) fetch(op *Op) {
	if c.next(`,"records":[`) {
		op.Records = c.records()
	}
	if c.next(`,"hw":`) {
		op.HW = c.integer()
	}
	if c.next(`,"log_start":`) {
		op.LogStart = c.integer()
	}
}

// next reads literal if it comes now.
func (c *canonical) next(literal string) bool {
	if !strings.HasPrefix(c.line[c.pos:], literal) {
		return false
	}
	c.pos += len(literal)
	return true
}

// want reads literal, which must come now.
func (c *canonical) want(literal string) *canonical {
	if !c.next(literal) {
		c.fail()
	}
	return c
}

func (c *canonical) fail() { c.bad, c.pos = true, len(c.line) }

// digitsMax is the number of digits that always fit.
const digitsMax = 18

func (c *canonical) integer() int64 {
	negative := c.next("-")
	s := c.line[c.pos:]
	n, i := int64(0), 0
	for i < len(s) && i < digitsMax && '0' <= s[i] && s[i] <= '9' {
		n = n*10 + int64(s[i]-'0')
		i++
	}
	if i == 0 || s[0] == '0' && i > 1 {
		c.fail()
		return 0
	}
	c.pos += i // a digit more, a fraction or an exponent is not what comes next
	if negative {
		return -n
	}
	return n
}

func (c *canonical) within(low, high int64) int64 {
	n := c.integer()
	if n < low || n > high {
		c.fail()
	}
	return n
}

func (c *canonical) text() string {
	c.want(`"`)
	from := c.pos
	for c.pos < len(c.line) && plain(c.line[c.pos]) {
		c.pos++
	}
	text := c.line[from:c.pos]
	c.want(`"`)
	return text
}

func (c *canonical) values() []string {
	list := make([]string, 0, c.count("]", 1, `"",`))
	for !c.bad && !c.next("]") {
		if len(list) > 0 {
			c.want(",")
		}
		list = append(list, c.text())
	}
	return list
}

func (c *canonical) records() []Rec {
	list := make([]Rec, 0, c.count("]]", 2, `[0,""],`))
	for !c.bad && !c.next("]") {
		if len(list) > 0 {
			c.want(",")
		}
		r := Rec{Offset: c.want("[").integer()}
		r.Value = c.want(",").text()
		c.want("]")
		list = append(list, r)
	}
	return list
}

// count guesses the length of a list up to end, by the commas that each element brings; text may have some, too. It
// is never more than fit if each is as short as shortest.
func (c *canonical) count(end string, commas int, shortest string) int {
	rest := c.line[c.pos:]
	n := strings.Index(rest, end)
	if n <= 0 {
		return 0
	}
	return min(strings.Count(rest[:n], ",")/commas, n/len(shortest)) + 1
}
