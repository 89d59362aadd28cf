package rabbitmq

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rabbitmq/amqp091-go"
)

// A header's value has a type in AMQP. It is written as text or, for arrays and tables, as JSON, with its kind, from
// which it is restored. The kind of a scalar is the letter of its type in AMQP; "S", a string, is the default. That of
// an array is the list of the kinds of its elements, that of a table an object with the kinds of the fields that are no
// strings. Within JSON, bytes are in base64.
const (
	kindString = "S"
	kindBase64 = "S64" // within JSON: a string that is not UTF-8
	kindBytes  = "x"
)

func encode(value any) (text []byte, kind any) {
	switch v := value.(type) {
	case string:
		return []byte(v), kindString
	case []byte:
		return v, kindBytes
	case []any, amqp091.Table:
		shown, kind := nested(value)
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(shown); err != nil {
			return fmt.Append(nil, shown), kindString // cannot happen: nested returns JSON types
		}
		return bytes.TrimSuffix(b.Bytes(), []byte("\n")), kind
	}
	return scalar(value)
}

func nested(value any) (shown, kind any) {
	switch v := value.(type) {
	case nil:
		return nil, "V"
	case bool:
		return v, "t"
	case string:
		if utf8.ValidString(v) {
			return v, kindString
		}
		return base64.StdEncoding.EncodeToString([]byte(v)), kindBase64
	case []byte:
		return base64.StdEncoding.EncodeToString(v), kindBytes
	case []any:
		list, kinds := make([]any, len(v)), make([]any, len(v))
		for i := range v {
			list[i], kinds[i] = nested(v[i])
		}
		return list, kinds
	case amqp091.Table:
		object, kinds := make(map[string]any, len(v)), map[string]any{}
		for name, field := range v {
			if object[name], kind = nested(field); kind != kindString {
				kinds[name] = kind
			}
		}
		return object, kinds
	}
	text, kind := scalar(value)
	if kind == "T" || kind == "D" || !json.Valid(text) { // infinite, which RabbitMQ does not have
		return string(text), kind
	}
	return json.Number(text), kind
}

func scalar(value any) (text []byte, kind any) {
	switch v := value.(type) {
	case nil:
		return []byte{}, "V"
	case amqp091.Decimal:
		return fmt.Appendf(nil, "%de-%d", v.Value, v.Scale), "D"
	case time.Time:
		if y := v.UTC().Year(); y < 0 || y > 9999 {
			return strconv.AppendInt(nil, v.Unix(), 10), "T"
		}
		return v.UTC().AppendFormat(nil, time.RFC3339), "T"
	}
	return fmt.Append(nil, value), cmp.Or(letters[reflect.TypeOf(value).Kind()], kindString)
}

// letters are the kinds of bools and numbers. The client knows no other type.
var letters = map[reflect.Kind]string{reflect.Bool: "t", reflect.Int8: "b", reflect.Uint8: "B", reflect.Int16: "s",
	reflect.Uint16: "u", reflect.Int32: "I", reflect.Uint32: "i", reflect.Int64: "l", reflect.Float32: "f",
	reflect.Float64: "d"}

var errKind = errors.New("the text does not fit the type")

func decode(text []byte, kind any) (any, error) {
	switch k := kind.(type) {
	case string:
		if k == kindBytes {
			return text, nil
		}
		return decodeScalar(string(text), k)
	case []any, map[string]any:
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var shown any
		if err := d.Decode(&shown); err != nil {
			return nil, errKind
		}
		return restore(shown, kind)
	}
	return nil, errKind
}

// restore is the reverse of nested. Values added by an edit have no kind: JSON decides.
func restore(shown, kind any) (value any, err error) {
	part := func(shown, kind any) any {
		value, failed := restore(shown, kind)
		err = cmp.Or(err, failed)
		return value
	}
	switch v := shown.(type) {
	case nil:
		return nil, nil
	case bool:
		return v, nil
	case []any:
		kinds, _ := kind.([]any)
		kinds = slices.Concat(kinds, make([]any, len(v)))
		out := make([]any, len(v))
		for i := range v {
			out[i] = part(v[i], kinds[i])
		}
		return out, err
	case map[string]any:
		kinds, _ := kind.(map[string]any)
		out := make(amqp091.Table, len(v))
		for name, field := range v {
			out[name] = part(field, kinds[name])
		}
		return out, err
	case string:
		switch kind {
		case kindBytes:
			return base64.StdEncoding.DecodeString(v)
		case kindBase64:
			raw, err := base64.StdEncoding.DecodeString(v)
			return string(raw), err
		}
		if k, ok := kind.(string); ok {
			return decodeScalar(v, k)
		}
		return v, nil
	case json.Number:
		k, ok := kind.(string)
		if !ok || k == kindString {
			if k = "l"; strings.ContainsAny(v.String(), ".eE") {
				k = "d"
			}
		}
		return decodeScalar(v.String(), k)
	}
	return nil, errKind
}

func decodeScalar(text, kind string) (any, error) {
	bits := map[string]int{"b": 8, "B": 8, "s": 16, "u": 16, "I": 32, "i": 32, "l": 64, "f": 32, "d": 64}[kind]
	switch kind {
	case kindString:
		return text, nil
	case "V":
		if text != "" {
			return nil, errKind
		}
		return nil, nil
	case "t":
		return strconv.ParseBool(text)
	case "b", "s", "I", "l":
		n, err := strconv.ParseInt(text, 10, bits)
		return map[string]any{"b": int8(n), "s": int16(n), "I": int32(n), "l": n}[kind], err
	case "B", "u", "i":
		n, err := strconv.ParseUint(text, 10, bits)
		return map[string]any{"B": uint8(n), "u": uint16(n), "i": uint32(n)}[kind], err
	case "f", "d":
		f, err := strconv.ParseFloat(text, bits)
		if math.IsNaN(f) || math.IsInf(f, 0) { // RabbitMQ fails over them
			return nil, errKind
		}
		return map[string]any{"f": float32(f), "d": f}[kind], err
	case "D":
		value, scale, _ := strings.Cut(text, "e-")
		v, err := strconv.ParseInt(value, 10, 64)
		s, err2 := strconv.ParseUint(scale, 10, 8)
		if err != nil || err2 != nil || v < math.MinInt32 || v > math.MaxUint32 {
			return nil, errKind
		}
		return amqp091.Decimal{Scale: uint8(s), Value: int32(v)}, nil
	case "T":
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
			return time.Unix(seconds, 0), nil
		}
		return time.Parse(time.RFC3339, text)
	}
	return nil, errKind
}

func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return 5 + len(v)
	case []byte:
		return 5 + len(v)
	case []any:
		n := 5
		for i := range v {
			n += sizeOf(v[i])
		}
		return n
	case amqp091.Table:
		n := 5
		for name, field := range v {
			n += 1 + len(name) + sizeOf(field)
		}
		return n
	}
	return 9
}
