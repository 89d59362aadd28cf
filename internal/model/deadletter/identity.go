package deadletter

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const identityBytes = 16

// Identify identifies a delivery within a source by 33 ASCII characters: p and the hash of the broker's position,
// else m and that of the sender's identifier, else c and that of the content.
func Identify(position, messageID string, c Content) string {
	switch {
	case position != "":
		return "p" + digest([]byte(position))
	case messageID != "":
		return "m" + digest([]byte(messageID))
	}
	parts := make([][]byte, 0, 2+2*len(c.Headers))
	parts = append(parts, c.Key, c.Payload)
	for _, h := range c.Headers {
		parts = append(parts, []byte(h.Name), h.Value)
	}
	return "c" + digest(parts...)
}

// Canonical returns a hash of the payload, 33 ASCII characters. JSON documents with equal values share it, and
// numbers compare exactly. Other payloads are hashed byte for byte.
func Canonical(c Content) string {
	if len(c.Payload) > 0 && task.JSONFault(c.Payload, len(c.Payload)) == "" {
		return "j" + digest(canonicalJSON(c.Payload))
	}
	return "b" + digest(c.Payload)
}

// digest hashes parts with their lengths; nil differs from empty.
func digest(parts ...[]byte) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		n := uint64(len(p))
		if p != nil {
			n++
		}
		h.Write(binary.BigEndian.AppendUint64(length[:0], n))
		h.Write(p)
	}
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0])[:identityBytes])
}

const maxEventType = 255

// EventType returns the header event_type or ce_type, else the member event_type of a JSON payload, else "", cut to
// 255 bytes.
func EventType(c Content) string {
	for _, h := range c.Headers {
		if (h.Name == "event_type" || h.Name == "ce_type") && len(h.Value) > 0 {
			return failure.Cut(string(h.Value), maxEventType)
		}
	}
	if !bytes.Contains(c.Payload, []byte(`"event_type"`)) {
		return ""
	}
	var event struct {
		Type string `json:"event_type"`
	}
	_ = json.Unmarshal(c.Payload, &event) // other payloads have no type
	return failure.Cut(event.Type, maxEventType)
}

// canonicalJSON writes valid JSON in one form for equal values: no white space, sorted members, few escapes, numbers
// as digits without zeros at either end and a power of ten. It recurses up to task.MaxDepth. Every captured message
// passes through it; package json is several times as slow.
func canonicalJSON(doc []byte) []byte {
	c := canonicaliser{in: doc, out: make([]byte, 0, len(doc)+16)}
	c.value()
	return c.out
}

type canonicaliser struct {
	in  []byte
	at  int
	out []byte
	// exact keeps halves of surrogate pairs apart. canonicalJSON does not: its hashes are stored, so its output
	// cannot change.
	exact  bool
	spans  []span
	sorted []byte
}

type span struct{ from, colon, to int }

func (c *canonicaliser) space() {
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

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
		c.out = appendNumber(c.out, c.token())
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

// object sorts the members only if necessary: most programs always write the same order.
func (c *canonicaliser) object() {
	c.at++
	c.out = append(c.out, '{')
	first, ordered := len(c.spans), true
	for !c.next('}') {
		if len(c.spans) > first {
			c.next(',')
			c.out = append(c.out, ',')
		}
		c.space()
		m := span{from: len(c.out)}
		c.text()
		m.colon = len(c.out)
		c.next(':')
		c.out = append(c.out, ':')
		c.value()
		m.to = len(c.out)
		ordered = ordered && (len(c.spans) == first || c.compare(c.spans[len(c.spans)-1], m) <= 0)
		c.spans = append(c.spans, m)
	}
	if !ordered {
		c.sort(c.spans[first:])
	}
	c.spans = c.spans[:first]
	c.out = append(c.out, '}')
}

func (c *canonicaliser) compare(a, b span) int {
	return bytes.Compare(c.out[a.from:a.colon], c.out[b.from:b.colon])
}

func (c *canonicaliser) sort(list []span) {
	start := list[0].from
	slices.SortStableFunc(list, c.compare)
	c.sorted = c.sorted[:0]
	for i, m := range list {
		if i > 0 {
			c.sorted = append(c.sorted, ',')
		}
		c.sorted = append(c.sorted, c.out[m.from:m.to]...)
	}
	c.out = append(c.out[:start], c.sorted...)
}

func (c *canonicaliser) text() {
	c.out = append(c.out, '"')
	for c.at++; c.in[c.at] != '"'; {
		if c.in[c.at] != '\\' {
			c.out = append(c.out, c.in[c.at])
			c.at++
			continue
		}
		switch r := c.escape(); {
		case r == '"' || r == '\\':
			c.out = append(c.out, '\\', byte(r))
		case r < ' ':
			c.out = append(c.out, '\\', 'u', '0', '0', "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
		case c.exact && utf16.IsSurrogate(r):
			c.out = strconv.AppendInt(append(c.out, '\\', 'u'), int64(r), 16)
		default:
			c.out = utf8.AppendRune(c.out, r)
		}
	}
	c.at++
	c.out = append(c.out, '"')
}

// escape reads an escape. Half of a surrogate pair becomes U+FFFD.
func (c *canonicaliser) escape() rune {
	kind := c.in[c.at+1]
	c.at += 2
	if kind != 'u' {
		if i := strings.IndexByte("bfnrt", kind); i >= 0 {
			return rune("\b\f\n\r\t"[i])
		}
		return rune(kind)
	}
	r := c.unit()
	if utf16.IsSurrogate(r) && bytes.HasPrefix(c.in[c.at:], []byte(`\u`)) {
		before := c.at
		c.at += 2
		if pair := utf16.DecodeRune(r, c.unit()); pair != utf8.RuneError {
			return pair
		}
		c.at = before
	}
	return r // AppendRune replaces a surrogate
}

func (c *canonicaliser) unit() rune {
	n, _ := strconv.ParseUint(string(c.in[c.at:c.at+4]), 16, 32)
	c.at += 4
	return rune(n)
}

func (c *canonicaliser) token() []byte {
	start := c.at
	for c.at < len(c.in) && strings.IndexByte(" \t\r\n,]}:", c.in[c.at]) < 0 {
		c.at++
	}
	return c.in[start:c.at]
}

// appendNumber works on the digits, so any size is fine: 1.0 and 10e-1 are 1e0.
func appendNumber(out, raw []byte) []byte {
	digits, negative := bytes.CutPrefix(raw, []byte{'-'})
	var power []byte
	if i := bytes.IndexAny(digits, "eE"); i >= 0 {
		digits, power = digits[:i], bytes.TrimPrefix(digits[i+1:], []byte{'+'})
	}
	if len(power) > 100 {
		return append(out, raw...) // an absurd exponent, slow to parse
	}
	// From here the number is digits and a power of ten, without the point.
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	start := len(out)
	if negative {
		out = append(out, '-')
	}
	first := len(out)
	out = append(out, bytes.TrimLeft(whole, "0")...)
	if len(out) == first {
		out = append(out, bytes.TrimLeft(fraction, "0")...)
	} else {
		out = append(out, fraction...)
	}
	end := len(out)
	for end > first && out[end-1] == '0' {
		end--
	}
	if end == first {
		return append(out[:start], '0')
	}
	shift := int64(len(out) - end - len(fraction))
	return appendPower(append(out[:end], 'e'), power, shift)
}

func appendPower(out, power []byte, shift int64) []byte {
	if len(power) == 0 {
		return strconv.AppendInt(out, shift, 10)
	}
	if len(power) <= 15 {
		n, _ := strconv.ParseInt(string(power), 10, 64)
		return strconv.AppendInt(out, n+shift, 10)
	}
	n, _ := new(big.Int).SetString(string(power), 10)
	return n.Add(n, big.NewInt(shift)).Append(out, 10)
}
