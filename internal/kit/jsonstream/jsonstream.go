// Package jsonstream checks a JSON document in parts, in constant memory.
package jsonstream

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Checker checks the bytes written to it: one JSON document, in UTF-8, with a bounded depth. The zero value is not
// usable; see New.
type Checker struct {
	maxDepth int
	next     state
	stack    []byte // the brackets that are open
	key      bool   // the string is the key of an object
	literal  string // the rest of true, false or null
	hex      int    // digits that remain of an escape
	tail     []byte // the beginning of a character that continues in the next part
	err      error
}

// New returns a Checker of documents with at most maxDepth levels.
func New(maxDepth int) *Checker { return &Checker{maxDepth: maxDepth} }

// state is the expectation of the next byte.
type state int

const (
	value      state = iota // a value
	valueOrEnd              // a value, or the end of the list
	keyOrEnd                // a key, or the end of the object
	objectKey               // a key
	colon
	after // after a value
	inString
	escape
	hexDigits
	inLiteral
	minus    // after the sign
	zero     // after a leading 0
	integer  // in the digits before the point
	point    // after the point
	fraction // in the digits after the point
	exponent // after e
	sign     // after the sign of the exponent
	power    // in the digits of the exponent
)

var errSyntax = errors.New("is not valid JSON")

// Write implements io.Writer. It returns the fault of the document, to follow its name.
func (c *Checker) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.err = c.utf8(p); c.err != nil {
		return 0, c.err
	}
	for _, b := range p {
		if c.err = c.step(b); c.err != nil {
			return 0, c.err
		}
	}
	return len(p), nil
}

// Close reports whether the document is complete.
func (c *Checker) Close() error {
	if c.err != nil {
		return c.err
	}
	if len(c.tail) > 0 {
		return errUTF8
	}
	if len(c.stack) > 0 {
		return errSyntax
	}
	switch c.next {
	case after, zero, integer, fraction, power:
		return nil
	}
	return errSyntax
}

var errUTF8 = errors.New("is not valid UTF-8")

func (c *Checker) utf8(p []byte) error {
	for len(c.tail) > 0 && len(p) > 0 {
		c.tail, p = append(c.tail, p[0]), p[1:]
		if utf8.FullRune(c.tail) {
			if !utf8.Valid(c.tail) {
				return errUTF8
			}
			c.tail = c.tail[:0]
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if end := p[len(p)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				c.tail, p = append(c.tail, end...), p[:len(p)-n]
			}
			break
		}
	}
	if !utf8.Valid(p) {
		return errUTF8
	}
	return nil
}

func (c *Checker) step(b byte) error {
	switch c.next {
	case inString:
		return c.inText(b)
	case escape:
		if b == 'u' {
			c.next, c.hex = hexDigits, 4
			return nil
		}
		return c.one(b, `"\/bfnrt`, inString)
	case hexDigits:
		if c.hex--; c.hex > 0 {
			return c.one(b, hexes, hexDigits)
		}
		return c.one(b, hexes, inString)
	case inLiteral:
		if b != c.literal[0] {
			return errSyntax
		}
		if c.literal = c.literal[1:]; c.literal == "" {
			c.next = after
		}
		return nil
	case minus, zero, integer, point, fraction, exponent, sign, power:
		return c.number(b)
	}
	if b == ' ' || b == '\t' || b == '\r' || b == '\n' {
		return nil
	}
	switch c.next {
	case colon:
		return c.one(b, ":", value)
	case after:
		return c.following(b)
	case objectKey, keyOrEnd:
		if b == '}' && c.next == keyOrEnd {
			return c.close(b)
		}
		c.key = true
		return c.one(b, `"`, inString)
	}
	if b == ']' && c.next == valueOrEnd {
		return c.close(b)
	}
	return c.begin(b)
}

const (
	digits = "0123456789"
	hexes  = digits + "abcdefABCDEF"
)

func (c *Checker) one(b byte, set string, then state) error {
	if strings.IndexByte(set, b) < 0 {
		return errSyntax
	}
	c.next = then
	return nil
}

func (c *Checker) inText(b byte) error {
	switch {
	case b == '\\':
		c.next = escape
	case b < ' ':
		return errSyntax
	case b == '"' && c.key:
		c.next, c.key = colon, false
	case b == '"':
		c.next = after
	}
	return nil
}

func (c *Checker) begin(b byte) error {
	switch b {
	case '{', '[':
		if len(c.stack) == c.maxDepth {
			return fmt.Errorf("nests deeper than %d levels", c.maxDepth)
		}
		c.stack = append(c.stack, b)
		c.next = keyOrEnd
		if b == '[' {
			c.next = valueOrEnd
		}
	case '"':
		c.next = inString
	case 't':
		c.next, c.literal = inLiteral, "true"[1:]
	case 'f':
		c.next, c.literal = inLiteral, "false"[1:]
	case 'n':
		c.next, c.literal = inLiteral, "null"[1:]
	case '-':
		c.next = minus
	case '0':
		c.next = zero
	default:
		return c.one(b, digits, integer)
	}
	return nil
}

func (c *Checker) following(b byte) error {
	switch {
	case b == '}' || b == ']':
		return c.close(b)
	case b != ',' || len(c.stack) == 0:
		return errSyntax
	case c.stack[len(c.stack)-1] == '{':
		c.next = objectKey
	default:
		c.next = value
	}
	return nil
}

func (c *Checker) close(b byte) error {
	last := len(c.stack) - 1
	if last < 0 || c.stack[last] != b-2 { // '[' and ']', '{' and '}' are two apart
		return errSyntax
	}
	c.stack, c.next = c.stack[:last], after
	return nil
}

// number takes a byte within a number, or the first one after it.
func (c *Checker) number(b byte) error {
	digit := b >= '0' && b <= '9'
	switch c.next {
	case minus:
		if b == '0' {
			c.next = zero
			return nil
		}
		return c.one(b, digits, integer)
	case point:
		return c.one(b, digits, fraction)
	case exponent:
		if b == '+' || b == '-' {
			c.next = sign
			return nil
		}
		return c.one(b, digits, power)
	case sign:
		return c.one(b, digits, power)
	case integer, fraction, power:
		if digit {
			return nil
		}
	}
	switch {
	case b == '.' && (c.next == zero || c.next == integer):
		c.next = point
		return nil
	case (b == 'e' || b == 'E') && c.next != power:
		c.next = exponent
		return nil
	}
	c.next = after
	return c.step(b)
}
