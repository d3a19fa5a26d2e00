package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Validator narrows a type. The zero value allows everything.
type Validator struct {
	Range string // in words, for messages and docs
	ok    func(value) bool
}

func (v Validator) accepts(x value) bool { return v.ok == nil || v.ok(x) }

func atLeast(low int64) Validator {
	return Validator{
		Range: fmt.Sprintf("at least %d", low),
		ok:    func(v value) bool { return v.number >= low },
	}
}

func between(low, high int64) Validator {
	return Validator{
		Range: fmt.Sprintf("%d to %d", low, high),
		ok:    func(v value) bool { return v.number >= low && v.number <= high },
	}
}

// gzipLevel allows gzip's levels, and -1 for its default.
func gzipLevel() Validator {
	return Validator{
		Range: "1 to 9, or -1 (the default level)",
		ok:    func(v value) bool { return v.number == -1 || v.number >= 1 && v.number <= 9 },
	}
}

// noLimitOr allows -1 and what is at least low.
func noLimitOr(low int64) Validator {
	return Validator{
		Range: fmt.Sprintf("-1 (no limit) or at least %d", low),
		ok:    func(v value) bool { return v.number == -1 || v.number >= low },
	}
}

// share is a fraction.
func share() Validator {
	return Validator{Range: "0 to 1", ok: func(v value) bool { return v.real >= 0 && v.real <= 1 }}
}

func oneOf(words ...string) Validator {
	return Validator{
		Range: "one of " + strings.Join(words, ", "),
		ok:    func(v value) bool { return slices.Contains(words, v.text) },
	}
}

// someOf allows any of the words, each once, or none (KIP-1161).
func someOf(words ...string) Validator {
	return Validator{
		Range: "any of " + strings.Join(words, ", ") + ", each once",
		ok: func(v value) bool {
			for i, word := range v.list {
				if !slices.Contains(words, word) || slices.Contains(v.list[:i], word) {
					return false
				}
			}
			return true
		},
	}
}

// distinct allows one word or more, each once.
func distinct() Validator {
	return Validator{
		Range: "not empty, each entry once",
		ok: func(v value) bool {
			for i, word := range v.list {
				if slices.Contains(v.list[:i], word) {
					return false
				}
			}
			return len(v.list) > 0
		},
	}
}

func nonEmpty() Validator {
	return Validator{Range: "not empty", ok: func(v value) bool { return v.text != "" }}
}

// hostPort allows host:port, [address]:port and :port.
func hostPort() Validator {
	return Validator{
		Range: "host:port",
		ok: func(v value) bool {
			i := strings.LastIndexByte(v.text, ':')
			if i < 0 {
				return false
			}
			host := v.text[:i]
			if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
				host = ""
			}
			_, err := strconv.ParseUint(v.text[i+1:], 10, 16)
			return err == nil && !strings.ContainsAny(host, ":/[]")
		},
	}
}

// clusterID allows what Kafka's tools take: 22 characters of base64url.
func clusterID() Validator {
	return Validator{
		Range: "22 characters of [A-Za-z0-9_-]",
		ok: func(v value) bool {
			if len(v.text) != 22 {
				return false
			}
			for i := range len(v.text) {
				c := v.text[i]
				if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
					return false
				}
			}
			return true
		},
	}
}

// rules allows names of the form room.rule; the rooms know which exist.
func rules() Validator {
	return Validator{
		Range: "of the form room.rule",
		ok: func(v value) bool {
			_, err := ParseRulesOff(strings.Join(v.list, ","))
			return err == nil
		},
	}
}

// overrides allows host:number words.
func overrides() Validator {
	return Validator{
		Range: "of the form host:number,host:number",
		ok: func(v value) bool {
			_, ok := parseOverridesPerIP(v.text)
			return ok
		},
	}
}

// parseOverridesPerIP reads max.connections.per.ip.overrides. An IPv6 address has colons of its own: the last one counts.
func parseOverridesPerIP(text string) ([]ConnectionOverride, bool) {
	var all []ConnectionOverride
	for _, word := range splitList(text) {
		colon := strings.LastIndexByte(word, ':')
		if colon < 1 {
			return nil, false
		}
		n, err := strconv.ParseUint(strings.TrimSpace(word[colon+1:]), 10, 31)
		if err != nil {
			return nil, false
		}
		host := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(word[:colon]), "["), "]")
		all = append(all, ConnectionOverride{Host: host, Max: int32(n)})
	}
	return all, true
}
