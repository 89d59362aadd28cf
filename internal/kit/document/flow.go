package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Flow formats a value on one line of YAML, as encoding/json sees it: the names of fields come
// from their json tags. Every reader of YAML 1.1 or 1.2 reads the same value from it.
// An error means a value that JSON cannot represent. The result is read back by Parse as the same value.
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

// within needs quotes within [] and {}: our parser takes a : between letters there for the end of a key.
const within = ":"

// writeFlow writes a node and its children.
// A mapping keeps the order of its pairs.
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

// older matches plain text that YAML 1.1 reads as something else: a truth value, a number with
// underscores or in base 60, a date.
var older = regexp.MustCompile(
	`^((?i:y|n|yes|no|on|off)|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])*(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`)

// flowText formats a string: plain if every reader takes it for a string and it has none of some characters, else in
// quotes.
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

// unprintable matches the characters that only double quotes can escape.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// isPlain reports whether a string needs no quotes within [] and {}.
// s must not be empty; the empty text counts as null and is quoted before.
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

// jsonQuoted writes a string in double quotes, which mean the same in JSON and in YAML.
func jsonQuoted(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s) // not reached: every string has a JSON form
	}
	return string(quoted)
}
