package strictjson

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// maxDetails bounds the problems in one response: a hostile body must not get a larger response.
const maxDetails = 50

// checker walks over the bytes of a valid JSON document and records its departures from a shape. It builds no values: a
// document without problems costs one pass and no allocation.
type checker struct {
	data  []byte
	path  []byte // JSON pointer to the value under examination
	found []tasker.Detail
	long  bool // an array is over maxItems
	// whole are integers with a point or an exponent, which encoding/json refuses.
	whole []written
}

// maxItems bounds an array without a bound in the schema. The engine's bound on a batch is lower; this one bounds
// memory: two bytes of JSON can become a struct of 300.
const maxItems = 10_000

func check(data []byte, s *Shape) ([]byte, error) {
	c := checker{data: data}
	c.value(0, s)
	if len(c.found) == 0 {
		return rewrite(data, c.whole), nil
	}
	e := tasker.Errorf(tasker.CodeInvalid, "the body breaks %s", wording.Count(len(c.found), "rule"))
	if len(c.found) == maxDetails {
		e.Message = fmt.Sprintf("the body breaks %d rules or more", maxDetails)
	}
	if c.long {
		e.Code, e.Hint = tasker.CodeTooLarge, "send fewer items at once"
	}
	e.Details = c.found
	return nil, e
}

func (c *checker) report(format string, args ...any) {
	if len(c.found) < maxDetails {
		c.found = append(c.found, tasker.Detail{Location: string(c.path), Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) reportAt(name, message string) {
	length := len(c.path)
	c.push(name)
	c.report("%s", message)
	c.path = c.path[:length]
}

// push appends a name to the pointer, escaped by RFC 6901.
func (c *checker) push(name string) {
	c.path = append(c.path, '/')
	c.path = append(c.path, pointer.Escape(name)...)
}

func (c *checker) value(i int, s *Shape) int {
	i = pointer.Start(c.data, i)
	if s.kind == oneOf {
		s = c.choose(i, s)
	}
	if s.kind == anyValue {
		return pointer.End(c.data, i)
	}
	if !s.takes(c.data[i]) {
		c.report("must be %s, not %s", s.kind, kindOf(c.data[i]))
		return pointer.End(c.data, i)
	}
	switch s.kind {
	case object:
		return c.object(i, s)
	case array:
		return c.array(i, s)
	}
	end := pointer.End(c.data, i)
	switch s.kind {
	case text:
		c.text(c.data[i+1:end-1], s)
	case integer, number:
		c.number(i, end, s)
	}
	return end
}

// takes reports whether a value that begins with b has the shape's type.
func (s *Shape) takes(b byte) bool {
	switch s.kind {
	case object:
		return b == '{'
	case array:
		return b == '['
	case text:
		return b == '"'
	case integer, number:
		return b == '-' || '0' <= b && b <= '9'
	case boolean:
		return b == 't' || b == 'f'
	}
	return true
}

// choose picks the likely alternative: the first of the value's type with all required names present, else the last; so
// the problems are those of one alternative.
func (c *checker) choose(i int, s *Shape) *Shape {
	for _, alternative := range s.alternatives {
		if !alternative.takes(c.data[i]) {
			continue
		}
		complete := true
		for _, f := range alternative.fields {
			complete = complete && (!f.required || c.has(i, f.name))
		}
		if complete {
			return alternative
		}
	}
	return s.alternatives[len(s.alternatives)-1]
}

func (c *checker) has(i int, name string) bool {
	for i = pointer.Start(c.data, i+1); c.data[i] != '}'; {
		key, after := c.key(i)
		if string(key) == name {
			return true
		}
		i = c.next(pointer.End(c.data, pointer.Start(c.data, after)))
	}
	return false
}

// object checks the object at i and returns the place after it. Missing names come after other problems.
func (c *checker) object(i int, s *Shape) int {
	var seen uint64
	length := len(c.path)
	for i = pointer.Start(c.data, i+1); c.data[i] != '}'; {
		key, after := c.key(i)
		i = pointer.Start(c.data, after)
		place, known := s.index[string(key)]
		switch {
		case known && seen&(1<<place) != 0:
			c.reportAt(string(key), "appears twice")
			i = pointer.End(c.data, i)
		case known && c.data[i] == 'n' && !s.fields[place].required:
			i = pointer.End(c.data, i)
		case known:
			seen |= 1 << place
			c.push(s.fields[place].name)
			i = c.value(i, s.fields[place].shape)
			c.path = c.path[:length]
		case s.closed:
			c.reportAt(string(key), "is not a known property")
			i = pointer.End(c.data, i)
		case s.each != nil:
			c.push(string(key))
			i = c.value(i, s.each)
			c.path = c.path[:length]
		default:
			i = pointer.End(c.data, i)
		}
		i = c.next(i)
	}
	for place, f := range s.fields {
		if f.required && seen&(1<<place) == 0 {
			c.reportAt(f.name, "is required")
		}
	}
	return i + 1
}

// array checks the array at i and returns the place after it. It counts excess items to the end, for the message.
func (c *checker) array(i int, s *Shape) int {
	length, n := len(c.path), 0
	for i = pointer.Start(c.data, i+1); c.data[i] != ']'; n++ {
		c.path = append(c.path, '/')
		c.path = strconv.AppendInt(c.path, int64(n), 10)
		i = c.next(c.value(i, s.each))
		c.path = c.path[:length]
	}
	if s.minLength != nil && n < *s.minLength {
		c.report("must have at least %d items, not %d", *s.minLength, n)
	}
	if s.maxSize != nil && n > *s.maxSize {
		c.report("must have at most %d items, not %d", *s.maxSize, n)
	}
	if s.maxSize == nil && n > maxItems {
		c.long = true
		c.report("must have at most %d items, not %d", maxItems, n)
	}
	return i + 1
}

// text checks the content of a string. Without bounds it does not unquote it.
func (c *checker) text(raw []byte, s *Shape) {
	if bytes.IndexByte(raw, '\\') >= 0 && (s.enum != nil || s.format != "" || s.maxSize != nil || s.minLength != nil) {
		raw = unquote(raw)
	}
	if s.maxSize != nil && len(raw) > *s.maxSize { // bytes first: they are never fewer than characters
		if n := utf8.RuneCount(raw); n > *s.maxSize {
			c.report("must have at most %d characters, not %d", *s.maxSize, n)
		}
	}
	if s.minLength != nil && utf8.RuneCount(raw) < *s.minLength {
		c.report("must have at least %d characters", *s.minLength)
	}
	if s.enum != nil && !slices.Contains(s.enum, string(raw)) {
		c.report("must be one of %s", strings.Join(s.enum, ", "))
	}
	switch s.format {
	case "uuid":
		if _, err := uuid.ParseBytes(raw); err != nil || len(raw) != 36 {
			c.report("must be a UUID such as 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70")
		}
	case base64Format:
		if _, err := base64.StdEncoding.Decode(make([]byte, base64.StdEncoding.DecodedLen(len(raw))), raw); err != nil {
			c.report("must be base64, with padding: %v", err)
		}
	case "date-time":
		if fault := timeFault(string(raw)); fault != "" {
			c.report("%s", fault)
		}
	}
}

// timeFault returns why s is not a storable time of RFC 3339. time.Parse alone accepts more: hours of one digit, a
// comma before the fraction, an offset of 99 hours.
func timeFault(s string) string {
	const form = "must be a time such as 2026-01-31T15:04:05Z"
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || s[13] != ':' || s[19] == ',' {
		return form
	}
	offset, utc := s[max(len(s)-5, 0):], s[len(s)-1] == 'Z'
	if !utc && (offset >= "24:00" || offset[3:] >= "60") {
		return form
	}
	return task.TimeFault(t)
}

// number checks a number and notes an integer whose form encoding/json refuses.
func (c *checker) number(begin, end int, s *Shape) {
	raw := string(c.data[begin:end])
	if s.kind == integer {
		digits := task.PlainInteger(raw)
		bits := 64
		if s.format == int32Format {
			bits = 32
		}
		if _, err := strconv.ParseInt(digits, 10, bits); err != nil {
			c.report("must be an integer of at most %d bits", bits)
			return
		}
		if digits != raw {
			c.whole = append(c.whole, written{begin, end, digits})
		}
	}
	n, err := strconv.ParseFloat(raw, 64)
	switch {
	case err != nil:
		c.report("is too large a number")
	case s.minimum != nil && n < *s.minimum:
		c.report("must be at least %v", *s.minimum)
	case s.maximum != nil && n > *s.maximum:
		c.report("must be at most %v", *s.maximum)
	}
}

func (c *checker) key(i int) ([]byte, int) {
	end := pointer.End(c.data, i)
	name := c.data[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name = unquote(name)
	}
	return name, pointer.Start(c.data, end) + 1
}

// next returns the place after the comma, or of the closing bracket.
func (c *checker) next(i int) int {
	if i = pointer.Start(c.data, i); c.data[i] == ',' {
		return pointer.Start(c.data, i+1)
	}
	return i
}

func unquote(raw []byte) []byte {
	var s string
	if err := json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &s); err != nil {
		return raw // cannot happen: the document is valid JSON
	}
	return []byte(s)
}

func (k kind) String() string {
	return [...]string{"any value", "an object", "an array", "a string", "an integer", "a number", "a boolean",
		"one of several types"}[k]
}

func kindOf(b byte) string {
	switch b {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
