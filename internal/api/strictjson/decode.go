package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/taskerhq/tasker"
)

// largeBody is the size in bytes from which a body is checked before it is decoded.
const largeBody = 256 << 10

// Decode reads a JSON document into v, a pointer to a value of shape s. It refuses every departure from the shape:
// unknown and repeated names, names in the wrong case, values out of bounds. v shares no memory with data.
//
// The error is a *tasker.Error of code invalid, or too_large for an array with too many items. It lists up to 50
// problems; v is undefined then.
func Decode(data []byte, s *Shape, v any) error {
	// encoding/json accepts bad UTF-8 inside a json.RawMessage, and workers could not read such a context.
	if !utf8.Valid(data) {
		return tasker.Errorf(tasker.CodeInvalid, "the body is not valid UTF-8, at byte %d", firstBadByte(data))
	}
	// Checking first saves memory; decoding first saves time, because decoding finds broken syntax anyway. So the size
	// decides.
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
	if err != nil { // the schema allows it and the Go type does not
		return tasker.Errorf(tasker.CodeInvalid, "the body cannot be read: %v", err)
	}
	return nil
}

// position counts line and column from 1.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

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
