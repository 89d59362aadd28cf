package template

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// fields reads the entries of one mapping. Every getter reports a wrong type or range at the position of the value
// and returns the zero value, so that the caller can continue. A null counts as absent.
type fields struct {
	*problems
	n    *document.Node
	what string // "step", for the messages
}

// open reads a mapping and reports keys that its Mapping lacks. It returns false for other nodes.
func (p *problems) open(n *document.Node, what string) (fields, bool) {
	known := known[what]
	f := fields{p, n, what}
	if n.Kind != document.Mapping {
		if !n.Broken {
			p.report(n.At, "%s must be a mapping, not %s", what, n.Kind)
		}
		return f, false
	}
	// Unknown keys are errors: a misspelt optional key would silently have no effect.
next:
	for _, e := range n.Pairs {
		for _, k := range known {
			if k == e.Key {
				continue next
			}
		}
		if near := suggest(e.Key, known); near != "" {
			p.report(e.At, "%s has no key %s; did you mean %q?", what, wording.Quoted(e.Key), near)
		} else {
			p.report(e.At, "%s has no key %s; it may have %s", what, wording.Quoted(e.Key), strings.Join(known, ", "))
		}
	}
	return f, true
}

// get returns the value of a key, nil if it is absent or null. Package document reports duplicate keys.
func (f fields) get(key string) *document.Node {
	if v := f.n.Get(key); v != nil && v.Kind != document.Null {
		return v
	}
	return nil
}

// need is get for a required key. An unparsable value is not reported as missing.
func (f fields) need(key string) *document.Node {
	v := f.get(key)
	if was := f.n.Get(key); v == nil && (was == nil || !was.Broken) {
		f.report(f.n.At, "%s needs the key %q", f.what, key)
	}
	return v
}

// text reads a string, "" for nil. It refuses numbers and booleans: as a version, "1.10" and 1.1 differ.
func (f fields) text(key string, v *document.Node) string {
	switch {
	case v == nil || v.Broken:
		return ""
	case v.Kind == document.Text:
		return v.Text
	case v.Kind == document.Integer || v.Kind == document.Float || v.Kind == document.Boolean:
		f.report(v.At, "%s must be a string; quote it: %q", key, v.Raw)
	default:
		f.report(v.At, "%s must be a string, not %s", key, v.Kind)
	}
	return ""
}

// name reads a name of at most most characters, "" after a fault.
func (f fields) name(key string, v *document.Node, most int) string {
	s := f.text(key, v)
	if v == nil || v.Kind != document.Text {
		return ""
	}
	if fault := nameFault(s, most); fault != "" {
		f.report(v.At, "%s %s", key, fault)
		return ""
	}
	return s
}

// nameFault refuses invisible characters, because names appear in keys, paths, logs and terminals.
func nameFault(s string, most int) string {
	switch {
	case s == "":
		return "must not be empty"
	case utf8.RuneCountInString(s) > most:
		return "must have at most " + strconv.Itoa(most) + " characters"
	case strings.TrimSpace(s) != s:
		return "must not begin or end with a space"
	case strings.ContainsFunc(s, invisible):
		return "must not contain control characters"
	}
	return ""
}

// invisible matches control characters, line separators and characters that turn the direction of text.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// prose reads a description; only the limit of the source applies.
func (f fields) prose(key string) string {
	v := f.get(key)
	s := f.text(key, v)
	if strings.ContainsFunc(s, func(r rune) bool { return invisible(r) && !strings.ContainsRune("\n\r\t", r) }) {
		f.report(v.At, "%s must not contain control characters other than tabs and line ends", key)
		return ""
	}
	return s
}

// whole reads a whole number of a range, 0 if absent. 1e3 and 5.0 count as whole, by their digits.
func (f fields) whole(key string, low, high int) int {
	v := f.get(key)
	if v == nil {
		return 0
	}
	digits := ""
	if v.Kind == document.Integer || v.Kind == document.Float {
		digits = task.PlainInteger(v.Text)
	}
	if digits == "" {
		f.report(v.At, "%s must be a whole number, not %s", key, shown(v))
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < low || n > high {
		f.report(v.At, "%s must be %d to %d, not %s", key, low, high, shown(v))
		return 0
	}
	return n
}

// fraction reads a number from 0 to 1; absent also for a faulty value.
func (f fields) fraction(key string, absent float64) float64 {
	v := f.get(key)
	if v == nil {
		return absent
	}
	if v.Kind != document.Integer && v.Kind != document.Float {
		f.report(v.At, "%s must be a number, not %s", key, shown(v))
		return absent
	}
	x, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || x < 0 || x > 1 {
		f.report(v.At, "%s must be 0 to 1, not %s", key, shown(v))
		return absent
	}
	return x
}

// truth reads true or false; absent also for a faulty value. YAML 1.2 reads yes and no as texts, which are refused.
func (f fields) truth(key string, absent bool) bool {
	v := f.get(key)
	switch {
	case v == nil:
		return absent
	case v.Kind != document.Boolean:
		f.report(v.At, "%s must be true or false, not %s", key, shown(v))
		return absent
	}
	return v.Text == "true"
}

func (f fields) list(key string) []*document.Node {
	v := f.get(key)
	if v == nil {
		return nil
	}
	if v.Kind != document.List {
		f.report(v.At, "%s must be a list, not %s", key, shown(v))
		return nil
	}
	return v.Items
}

func shown(v *document.Node) string {
	switch v.Kind {
	case document.Text:
		return wording.Quoted(v.Text)
	case document.Boolean, document.Integer, document.Float:
		return strings.Trim(wording.Quoted(v.Raw), `"`)
	default:
		return v.Kind.String()
	}
}
