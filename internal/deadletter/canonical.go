package deadletter

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// canonicalJSON writes valid JSON in one form for all documents of the same values: no white space, members sorted by
// name, strings with the escapes of package json, numbers as digits without trailing zeros and a power of ten. It
// recurses as deeply as the document nests, which task.MaxDepth bounds. Members with one name keep their order.
func canonicalJSON(doc []byte) []byte {
	c := canonicaliser{in: doc, out: make([]byte, 0, len(doc))}
	c.value()
	return c.out
}

type canonicaliser struct {
	in  []byte
	at  int
	out []byte
}

func (c *canonicaliser) space() {
	for c.at < len(c.in) && strings.IndexByte(" \t\r\n", c.in[c.at]) >= 0 {
		c.at++
	}
}

// next skips white space, and takes the byte if it is the next one.
func (c *canonicaliser) next(b byte) bool {
	c.space()
	if c.at < len(c.in) && c.in[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *canonicaliser) value() {
	c.space()
	switch b := c.in[c.at]; {
	case b == '{':
		c.object()
	case b == '[':
		c.array()
	case b == '"':
		c.text()
	case b == '-' || '0' <= b && b <= '9':
		c.out = append(c.out, canonicalNumber(c.token())...)
	default:
		c.out = append(c.out, c.token()...)
	}
}

func (c *canonicaliser) array() {
	c.at++
	c.out = append(c.out, '[')
	for first := true; !c.next(']'); first = false {
		if !first {
			c.next(',')
			c.out = append(c.out, ',')
		}
		c.value()
	}
	c.out = append(c.out, ']')
}

// object writes the members one after the other, then sorts what it wrote.
func (c *canonicaliser) object() {
	c.at++
	start := len(c.out)
	type member struct{ from, colon, to int }
	var list []member
	for !c.next('}') {
		c.next(',')
		c.space()
		m := member{from: len(c.out)}
		c.text()
		m.colon = len(c.out)
		c.next(':')
		c.out = append(c.out, ':')
		c.value()
		m.to = len(c.out)
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b member) int {
		return bytes.Compare(c.out[a.from:a.colon], c.out[b.from:b.colon])
	})
	sorted := make([]byte, 0, len(c.out)-start+len(list)+2)
	sorted = append(sorted, '{')
	for i, m := range list {
		if i > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, c.out[m.from:m.to]...)
	}
	c.out = append(append(c.out[:start], sorted...), '}')
}

// text copies a string; one with an escape is written as package json writes it.
func (c *canonicaliser) text() {
	start, escaped := c.at, false
	for c.at++; c.in[c.at] != '"'; c.at++ {
		if c.in[c.at] == '\\' {
			escaped = true
			c.at++
		}
	}
	c.at++
	raw := c.in[start:c.at]
	if escaped {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			raw = quote(s)
		}
	}
	c.out = append(c.out, raw...)
}

// quote writes a string in JSON with the fewest escapes.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string is always encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// token takes a number or a word.
func (c *canonicaliser) token() []byte {
	start := c.at
	for c.at < len(c.in) && strings.IndexByte(" \t\r\n,]}:", c.in[c.at]) < 0 {
		c.at++
	}
	return c.in[start:c.at]
}

// canonicalNumber writes a number as its digits without zeros at either end, and a power of ten: 1.0 and 10e-1 are 1e0.
// It works on the digits, so that no number is too large for it.
func canonicalNumber(raw []byte) string {
	digits, negative := strings.CutPrefix(string(raw), "-")
	exponent := new(big.Int)
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		if power := digits[i+1:]; len(power) > 100 {
			return string(raw) // nobody means it; and parsing it takes long
		} else if _, ok := exponent.SetString(power, 10); !ok {
			return string(raw)
		}
		digits = digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	exponent.Add(exponent, big.NewInt(int64(len(digits)-len(short)-len(fraction))))
	if negative {
		short = "-" + short
	}
	if exponent.IsInt64() {
		return short + "e" + strconv.FormatInt(exponent.Int64(), 10)
	}
	return short + "e" + exponent.String()
}
