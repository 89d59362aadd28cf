package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/envelope"
)

// Key returns the unique key of a context under a resolved rule: a hash of the scope (such as a template), the fields
// and their values. Equal JSON has equal keys, whatever its white space, member order, escapes and spelling of
// numbers. A missing field differs from null.
//
// The error explains why a context has no key.
func (q *Unique) Key(scope []string, context []byte) (string, error) {
	if lone(context) {
		return "", errors.New("contains one half of a surrogate pair, so it cannot be compared with others")
	}
	var document any
	if len(context) > 0 {
		d := json.NewDecoder(bytes.NewReader(context))
		d.UseNumber()
		if err := d.Decode(&document); err != nil {
			return "", err
		}
	}
	h := sha256.New()
	put := func(part []byte) { // length-prefixed, so that lists of parts are unambiguous
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	put([]byte("unique/1"))
	for _, part := range scope {
		put([]byte(part))
	}
	for _, field := range q.By {
		put([]byte(field))
		switch field {
		case ByTemplate:
		case ByAll:
			if envelope.Within(context) {
				if _, at, found := envelope.Find(context); found {
					return "", errEncoded(at)
				}
			}
			put(canonical(nil, document))
		default:
			v, found, err := lookUp(document, field)
			if err != nil {
				return "", err
			}
			if found {
				put(canonical(nil, v))
			} else {
				put(nil)
			}
		}
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)), nil
}

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

// errEncoded: equal values are encoded differently each time.
func errEncoded(pointer string) error {
	return fmt.Errorf("has no unique key: the value at %q is encoded by the client, so it cannot be compared; name other "+
		"fields in the rule, or send this one in clear text", pointer)
}

func lookUp(v any, pointer string) (any, bool, error) {
	for part := range strings.SplitSeq(pointer[1:], "/") {
		switch in := v.(type) {
		case map[string]any:
			if _, encoded := envelope.Of(in); encoded {
				return nil, false, errEncoded(pointer)
			}
			member, found := in[unescaper.Replace(part)]
			if !found {
				return nil, false, nil
			}
			v = member
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || strconv.Itoa(i) != part || i < 0 || i >= len(in) {
				return nil, false, nil
			}
			v = in[i]
		default:
			return nil, false, nil
		}
	}
	if encodedIn(v) {
		return nil, false, errEncoded(pointer)
	}
	return v, true, nil
}

func encodedIn(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, encoded := envelope.Of(v); encoded {
			return true
		}
		for _, member := range v {
			if encodedIn(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, encodedIn)
	}
	return false
}

// canonical appends the one form of a JSON value: members sorted, no white space, canonical numbers.
func canonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(canonical(out, name), ':')
			out = canonical(out, v[name])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = canonical(out, item)
		}
		return append(out, ']')
	case json.Number:
		return append(out, canonicalNumber(v.String())...)
	default:
		text, _ := json.Marshal(v)
		return append(out, text...)
	}
}

// smallExponent is the length of an exponent that fits into an int64 together with the digits.
const smallExponent = 15

// canonicalNumber writes a JSON number exactly, as digits and a power of ten: 100, 1e2 and 100.0 are 1e2.
func canonicalNumber(s string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, s = "-", rest
	}
	digits, power, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	power = strings.TrimPrefix(power, "+")
	shift := len(digits) - len(short) - len(fraction)
	if len(power) <= smallExponent {
		n, _ := strconv.ParseInt(power, 10, 64)
		return sign + short + "e" + strconv.FormatInt(n+int64(shift), 10)
	}
	n, _ := new(big.Int).SetString(power, 10)
	return sign + short + "e" + n.Add(n, big.NewInt(int64(shift))).String()
}

// lone reports whether a valid JSON document escapes half of a surrogate pair. Decoders replace each by the same
// character, so that different texts would be equal.
func lone(document []byte) bool {
	high := false // the previous escape was the first half of a pair
	for i := 0; i < len(document); i++ {
		escape := document[i] == '\\' && i+1 < len(document)
		unit := uint64(0)
		if escape && document[i+1] == 'u' && i+5 < len(document) {
			unit, _ = strconv.ParseUint(string(document[i+2:i+6]), 16, 32)
		}
		low := unit >= 0xDC00 && unit < 0xE000
		if high != low {
			return true
		}
		high = unit >= 0xD800 && unit < 0xDC00
		switch {
		case unit != 0:
			i += 5
		case escape:
			i++
		}
	}
	return high
}
