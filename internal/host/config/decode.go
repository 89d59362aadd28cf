package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/kit/document"
)

// decoder stores nodes in fields. It converts neither numbers to text nor text to numbers, because a value of the
// wrong type is usually in the wrong place. It reports every mismatch and continues.
type decoder struct {
	// report receives the path of a value and the expected form.
	report func(path, format string, args ...any)
	// hides: the setting may have a secret, so reports show neither its value nor a key that is no word.
	hides bool
}

// decode stores a node by the type of dst; path names it in reports.
func (d decoder) decode(path string, n *document.Node, dst reflect.Value) {
	if n.Broken {
		return // reported
	}
	if dst.Type() == durationType {
		d.duration(path, n, dst)
		return
	}
	switch dst.Kind() {
	case reflect.String:
		if n.Kind == document.Text || n.Kind == document.Boolean && dst.Type() == switchType {
			dst.SetString(n.Text)
			return
		}
		d.report(path, "must be text, not %s", d.show(n))
	case reflect.Bool:
		if n.Kind == document.Boolean {
			dst.SetBool(n.Text == "true")
			return
		}
		d.report(path, "must be true or false, not %s", d.show(n))
	case reflect.Int:
		if v, ok := whole(n); ok {
			dst.SetInt(v)
			return
		}
		d.report(path, "must be a whole number, not %s", d.show(n))
	case reflect.Float64:
		if v, ok := number(n); ok {
			dst.SetFloat(v)
			return
		}
		d.report(path, "must be a number, not %s", d.show(n))
	case reflect.Slice:
		d.list(path, n, dst)
	case reflect.Struct:
		d.item(path, n, dst)
	case reflect.Pointer: // distinguishes given from missing
		dst.Set(reflect.New(dst.Type().Elem()))
		d.decode(path, n, dst.Elem())
	default:
		d.report(path, "cannot be set") // a Config field of an untested kind
	}
}

func (d decoder) duration(path string, n *document.Node, dst reflect.Value) {
	switch {
	case n.Kind == document.Integer && (n.Text == "0" || n.Text == "-1"):
		// Other bare numbers would be nanoseconds, which no user means. 0 and -1 have their own meaning.
		v, _ := whole(n)
		dst.SetInt(v)
		return
	case n.Kind == document.Text:
		if v, err := parseDuration(n.Text); err == nil {
			dst.SetInt(int64(v))
			return
		}
	}
	d.report(path, "must be a duration with a unit, such as 500ms, 30s, 5m, 24h or 7d, not %s", d.show(n))
}

// list replaces the whole list of an earlier source.
func (d decoder) list(path string, n *document.Node, dst reflect.Value) {
	if n.Kind != document.List {
		d.report(path, "must be a list, not %s", d.show(n))
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.decode(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i))
	}
	dst.Set(list)
}

// item stores a mapping in a struct; null leaves the field.
func (d decoder) item(path string, n *document.Node, dst reflect.Value) {
	if n.Kind != document.Mapping {
		d.report(path, "must be a mapping, not %s", d.show(n))
		return
	}
	fields := map[string]reflect.Value{}
	var names []string
	for i := range dst.NumField() {
		name := snake(dst.Type().Field(i).Name)
		fields[name] = dst.Field(i)
		names = append(names, name)
	}
	for _, p := range n.Pairs {
		field, known := fields[p.Key]
		if !known && d.hides && !word.MatchString(p.Key) {
			d.report(path, "has an unknown key; known are %s", strings.Join(names, ", "))
			continue
		}
		if !known {
			d.report(path+"."+p.Key, "is an unknown key; known are %s", strings.Join(names, ", "))
			continue
		}
		if p.Value.Kind != document.Null {
			d.decode(path+"."+p.Key, p.Value, field)
		}
	}
}

// Go durations have no days.
var days = regexp.MustCompile(`^(\d+)d(.*)$`)

// parseDuration parses a Go duration, optionally with up to 100,000 days in front ("7d12h"), or -1, "no limit" for
// several settings.
func parseDuration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "-1" {
		return -1, nil
	}
	var total time.Duration
	if m := days.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 100_000 {
			return 0, fmt.Errorf("too many days: %s", s)
		}
		total = time.Duration(n) * 24 * time.Hour
		if s = m[2]; s == "" {
			return total, nil
		}
	}
	rest, err := time.ParseDuration(s)
	return total + rest, err
}

// formatDuration returns the shortest text for parseDuration.
func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == -1:
		return "-1"
	case d > 0 && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// underscored is a whole number with separators, as in YAML 1.1: 10_000.
var underscored = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)

// whole accepts an exact float without a fraction.
func whole(n *document.Node) (int64, bool) {
	switch {
	case n.Kind == document.Integer:
		v, err := strconv.ParseInt(n.Text, 10, 64)
		return v, err == nil
	case n.Kind == document.Float:
		v, err := strconv.ParseFloat(n.Text, 64)
		return int64(v), err == nil && v == math.Trunc(v) && math.Abs(v) < 1<<53
	case n.Kind == document.Text && !n.Quoted && underscored.MatchString(n.Text):
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 10, 64)
		return v, err == nil
	}
	return 0, false
}

func number(n *document.Node) (float64, bool) {
	if n.Kind == document.Float {
		v, err := strconv.ParseFloat(n.Text, 64)
		return v, err == nil
	}
	v, ok := whole(n)
	return float64(v), ok
}

// word matches a mistyped key, but not a secret in its place.
var word = regexp.MustCompile(`^[a-z_]{1,24}$`)

// show formats a refused value, text up to 40 bytes.
func (d decoder) show(n *document.Node) string {
	switch n.Kind {
	case document.Null:
		return "nothing"
	case document.List:
		return "a list"
	case document.Mapping:
		return "a section"
	case document.Text:
		if d.hides {
			return "text"
		}
		text := n.Text
		if len(text) > 40 {
			text = text[:40] + "..."
		}
		return strconv.Quote(text)
	default:
		if d.hides {
			return "a number or a truth value"
		}
		return n.Text
	}
}
