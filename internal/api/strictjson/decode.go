package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/taskerhq/tasker"
)

// largeBody is the size, in bytes, from which a body is checked before it is decoded.
const largeBody = 256 << 10

// Decode reads a JSON document into v, a pointer to a value of shape s. It refuses everything
// that departs from the shape: unknown and repeated names, names in the wrong case, values
// out of bounds. What it stores in v shares no memory with data.
//
// The error is a *tasker.Error of code invalid, or too_large where an array has too many
// items. It lists up to 50 problems; v is undefined then.
func Decode(data []byte, s *Shape, v any) error {
	// encoding/json lets bad UTF-8 pass inside a json.RawMessage, and a task's
	// context would carry it to workers that cannot read it.
	if !utf8.Valid(data) {
		return tasker.Errorf(tasker.CodeInvalid, "the body is not valid UTF-8, at byte %d", firstBadByte(data))
	}
	// Checking first would save memory and decoding first saves time, because
	// decoding finds broken syntax anyway. So the size decides.
	large := len(data) > largeBody && json.Valid(data)
	plain := data
	var err error
	if large {
		if plain, err = check(data, s); err != nil {
			return err
		}
	}
	err = json.Unmarshal(plain, v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line, column := position(data, syntax.Offset)
		return tasker.Errorf(tasker.CodeInvalid, "the body is not valid JSON: %v, at line %d, column %d (byte %d)",
			syntax, line, column, syntax.Offset)
	}
	if !large {
		if plain, checked := check(data, s); checked != nil {
			return checked
		} else if !bytes.Equal(plain, data) { // it stopped at an integer that looks like a fraction
			reflect.ValueOf(v).Elem().SetZero()
			err = json.Unmarshal(plain, v)
		}
	}
	if err != nil { // what the schema allows and the Go type does not
		return tasker.Errorf(tasker.CodeInvalid, "the body cannot be read: %v", err)
	}
	return nil
}

// position converts an offset into a line and a column, both counted from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// firstBadByte returns the offset of the first byte that is not UTF-8.
func firstBadByte(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}
