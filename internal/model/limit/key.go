package limit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A key is a text with places for values of a task's context: "{{customer}}", "{{order.region}}/{{items.0.sku}}".
const (
	// MaxKey bounds a key as written, in bytes.
	MaxKey = 256
	// MaxValue bounds a stored key, in bytes. A longer one is cut and ends with its hash.
	MaxValue  = 200
	maxPlaces = 8
	// None replaces a missing or null value, so all steps without one share it.
	None = "none"
)

// Key alternates texts and paths, and begins and ends with a text.
type Key struct {
	Texts []string
	Paths [][]string
}

// ParseKey reads a key as written.
func ParseKey(s string) (Key, error) {
	var k Key
	switch {
	case len(s) > MaxKey:
		return k, fmt.Errorf("has %d bytes; at most %d are allowed", len(s), MaxKey)
	case !utf8.ValidString(s):
		return k, fmt.Errorf("is not UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return k, fmt.Errorf("must not contain control characters")
	}
	for {
		text, rest, found := strings.Cut(s, "{{")
		if strings.Contains(text, "}}") {
			return k, fmt.Errorf("has }} without {{")
		}
		k.Texts = append(k.Texts, text)
		if !found {
			return k, nil
		}
		inner, after, closed := strings.Cut(rest, "}}")
		path := strings.Split(strings.TrimSpace(inner), ".")
		switch {
		case !closed:
			return k, fmt.Errorf("has {{ without }}")
		case len(k.Paths) == maxPlaces:
			return k, fmt.Errorf("has more than %d places", maxPlaces)
		}
		for _, name := range path {
			if name == "" || strings.ContainsAny(name, "{} ") {
				return k, fmt.Errorf("{{%s}} is not a path like customer or order.customer_id", inner)
			}
		}
		k.Paths = append(k.Paths, path)
		s = after
	}
}

// Constant reports whether the key has no place: all steps share it.
func (k Key) Constant() bool { return len(k.Paths) == 0 }

// Document decodes a context for keys; nil for invalid JSON.
func Document(context []byte) (document any) {
	d := json.NewDecoder(bytes.NewReader(context))
	d.UseNumber() // 42 stays 42 at any length
	if d.Decode(&document) != nil {
		return nil
	}
	return document
}

// Of returns the key with values of a document from Document. The key of a single place names it: customer=42.
func (k Key) Of(document any) string {
	if k.Constant() {
		return bounded(strings.Join(k.Texts, ""))
	}
	var b strings.Builder
	for i, path := range k.Paths {
		b.WriteString(k.Texts[i])
		if len(k.Paths) == 1 && k.Texts[0] == "" && k.Texts[1] == "" {
			b.WriteString(strings.Join(path, ".") + "=")
		}
		value, _ := valueAt(document, path)
		b.WriteString(value)
	}
	b.WriteString(k.Texts[len(k.Texts)-1])
	return bounded(b.String())
}

// Text returns the uncut key with the values of a context. It fails if a value is missing.
func (k Key) Text(context []byte) (string, error) {
	var document any
	if len(k.Paths) > 0 {
		document = Document(context)
	}
	var b strings.Builder
	for i, path := range k.Paths {
		value, found := valueAt(document, path)
		if !found {
			return "", fmt.Errorf("the context has no value at %s", strings.Join(path, "."))
		}
		b.WriteString(k.Texts[i] + value)
	}
	return b.String() + k.Texts[len(k.Texts)-1], nil
}

// valueAt returns the text of a value, or None and false. An object or a list counts as its JSON.
func valueAt(v any, path []string) (text string, found bool) {
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return None, false
			}
			v = in[i]
		default:
			return None, false
		}
	}
	switch v := v.(type) {
	case nil:
		return None, false
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	b, err := json.Marshal(v)
	if err != nil {
		return None, false
	}
	return string(b), true
}

// bounded makes a key fit for storage and terminals: bounded, valid UTF-8 without control characters.
func bounded(s string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if clean == s && len(s) <= MaxValue {
		return s
	}
	// keep distinct keys distinct that were changed alike
	sum := sha256.Sum256([]byte(s))
	end := "~" + hex.EncodeToString(sum[:8])
	for len(clean) > MaxValue-len(end) {
		_, size := utf8.DecodeLastRuneInString(clean)
		clean = clean[:len(clean)-size]
	}
	return clean + end
}

// Number returns the number of a gate. It is computed, so a step finds its gate without a read or a lock. If two
// gates share a number (once in 10^18 pairs), their steps share the limit, which is never exceeded.
func Number(namespace, limit, key string) int64 {
	h := sha256.New()
	for _, part := range []string{namespace, limit, key} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return int64(binary.BigEndian.Uint64(h.Sum(nil))>>3) | 1 // #nosec G115 -- 61 bits
}
