package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Flow formats a value on one line of YAML, by its json tags. Every reader of YAML 1.1 or 1.2, and Parse, reads the
// same value from it. An error means a value that JSON cannot represent.
func Flow(v any) (string, error) {
	src, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write %T as YAML: %w", v, err)
	}
	r := reader{Options: Options{
		Limits: Limits{Depth: 1000, Digits: len(src)},
		Report: func(at Position, message string) { err = fmt.Errorf("write %T as YAML: %s", v, message) },
	}}
	root := r.jsonTree(src)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if root.Kind == Text {
		b.WriteString(flowText(root.Text, ""))
	} else {
		root.writeFlow(&b)
	}
	return b.String(), nil
}

// within needs quotes within [] and {}: our parser ends a key there at a : between letters.
const within = ":"

// writeFlow keeps the order of pairs.
func (n *Node) writeFlow(b *strings.Builder) {
	switch n.Kind {
	case Text:
		b.WriteString(flowText(n.Text, within))
	case Integer, Float:
		b.WriteString(n.Raw)
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			item.writeFlow(b)
		}
		b.WriteByte(']')
	case Mapping:
		b.WriteByte('{')
		for i, p := range n.Pairs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(flowText(p.Key, within) + ": ")
			p.Value.writeFlow(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(n.Text)
	}
}

// older matches plain text with another meaning in YAML 1.1: a truth value, a number with underscores or in base 60, a
// date.
var older = regexp.MustCompile(
	`^((?i:y|n|yes|no|on|off)|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`)

// flowText quotes a string unless every reader takes it for a string.
func flowText(s, quoted string) string {
	r := reader{Options: Options{Limits: Limits{Digits: len(s)}, Report: func(Position, string) {}}}
	switch {
	case r.resolve(s, Position{}).Kind != Text, older.MatchString(s), strings.ContainsFunc(s, unprintable):
		return jsonQuoted(s)
	case isPlain(s) && !strings.ContainsAny(s, quoted):
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// unprintable characters need double quotes.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// isPlain reports whether a string needs no quotes within [] and {}. s must not be empty, which is null.
func isPlain(s string) bool {
	first, last := s[0], s[len(s)-1]
	switch {
	case strings.ContainsAny(s[:1], "-?:") && (len(s) == 1 || s[1] == ' '),
		strings.IndexByte("#&*!|>'\"%@`", first) >= 0,
		first == ' ', last == ' ', last == ':':
		return false
	}
	return !strings.ContainsAny(s, ",[]{}") && !strings.Contains(s, ": ") && !strings.Contains(s, " #")
}

func jsonQuoted(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s) // unreachable: every string has a JSON form
	}
	return string(quoted)
}
