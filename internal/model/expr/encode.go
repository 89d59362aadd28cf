package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrTooLarge reports a value above the limit.
var ErrTooLarge = errors.New("the value is too large")

// Encode returns a value as JSON of at most limit bytes. Decoded values keep their bytes.
func Encode(v any, limit int) ([]byte, error) {
	e := encoder{limit: limit}
	e.value(v)
	if e.size > limit {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, limit)
	}
	return e.out, nil
}

// encoder stops at the limit, because a small expression can have a large value.
type encoder struct {
	out         []byte
	size, limit int
}

func (e *encoder) write(s string) {
	if e.size += len(s); e.size <= e.limit {
		e.out = append(e.out, s...)
	}
}

func (e *encoder) value(v any) {
	switch v := v.(type) {
	case nil:
		e.write("null")
	case bool:
		e.write(strconv.FormatBool(v))
	case int:
		e.write(strconv.Itoa(v))
	case json.Number:
		e.write(string(v))
	case string:
		e.write(quoted(v))
	case text:
		e.write(v.raw)
	case Encoded:
		e.write(v.raw)
	case list:
		e.write(v.raw)
	case object:
		e.write(v.raw)
	case []any:
		e.elements(v)
	case map[string]any:
		e.members(v)
	}
}

func (e *encoder) elements(list []any) {
	e.write("[")
	for i, v := range list {
		if e.size > e.limit {
			return
		}
		if i > 0 {
			e.write(",")
		}
		e.value(v)
	}
	e.write("]")
}

func (e *encoder) members(of map[string]any) {
	e.write("{")
	for i, name := range slices.Sorted(maps.Keys(of)) {
		if e.size > e.limit {
			return
		}
		if i > 0 {
			e.write(",")
		}
		e.write(quoted(name) + ":")
		e.value(of[name])
	}
	e.write("}")
}

func quoted(s string) string {
	plain := utf8.ValidString(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return `"` + s + `"`
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(out.String(), "\n")
}
