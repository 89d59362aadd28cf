package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder moves plain values into fields, strictly: a number is never taken
// for text nor the other way round, and every mismatch is reported with the
// path of the very item.
type decoder struct {
	// report is told the path of a value and what it should have been.
	report func(path, format string, args ...any)
}

func (d decoder) decode(path string, raw any, dst reflect.Value) {
	if dst.Type() == durationType {
		d.duration(path, raw, dst)
		return
	}
	switch dst.Kind() {
	case reflect.String:
		if s, ok := raw.(string); ok {
			dst.SetString(s)
			return
		}
		if b, ok := raw.(bool); ok && dst.Type() == switchType {
			dst.SetString(strconv.FormatBool(b))
			return
		}
		d.report(path, "wants text, not %s", show(raw))
	case reflect.Bool:
		if b, ok := raw.(bool); ok {
			dst.SetBool(b)
			return
		}
		d.report(path, "wants true or false, not %s", show(raw))
	case reflect.Int:
		if n, ok := whole(raw); ok {
			dst.SetInt(n)
			return
		}
		d.report(path, "wants a whole number, not %s", show(raw))
	case reflect.Float64:
		if n, ok := number(raw); ok {
			dst.SetFloat(n)
			return
		}
		d.report(path, "wants a number, not %s", show(raw))
	case reflect.Slice:
		d.list(path, raw, dst)
	case reflect.Struct:
		d.item(path, raw, dst)
	default:
		d.report(path, "cannot be set") // a Config field of a kind that no test knows
	}
}

func (d decoder) duration(path string, raw any, dst reflect.Value) {
	var v time.Duration
	switch x := raw.(type) {
	case int:
		// A bare number would be nanoseconds, which nobody means. 0 and -1 have
		// a meaning of their own.
		if x == 0 || x == -1 {
			dst.SetInt(int64(x))
			return
		}
	case string:
		var err error
		if v, err = parseDuration(x); err == nil {
			dst.SetInt(int64(v))
			return
		}
	}
	d.report(path, "wants a time with its unit, such as 500ms, 30s, 5m, 24h or 7d, not %s", show(raw))
}

func (d decoder) list(path string, raw any, dst reflect.Value) {
	items, ok := raw.([]any)
	if !ok {
		d.report(path, "wants a list, not %s", show(raw))
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		d.decode(fmt.Sprintf("%s[%d]", path, i), item, list.Index(i))
	}
	dst.Set(list)
}

func (d decoder) item(path string, raw any, dst reflect.Value) {
	values, ok := raw.(map[string]any)
	if !ok {
		d.report(path, "wants keys and values, not %s", show(raw))
		return
	}
	fields := map[string]reflect.Value{}
	var names []string
	for i := range dst.NumField() {
		name := snake(dst.Type().Field(i).Name)
		fields[name] = dst.Field(i)
		names = append(names, name)
	}
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		field, known := fields[k]
		if !known {
			d.report(path+"."+k, "is an unknown key; known are %s", strings.Join(names, ", "))
			continue
		}
		if values[k] != nil {
			d.decode(path+"."+k, values[k], field)
		}
	}
}

var days = regexp.MustCompile(`^(\d+)d(.*)$`)

// parseDuration is time.ParseDuration with days before it, and -1.
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

// formatDuration is the shortest text that parseDuration reads back.
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

func whole(raw any) (int64, bool) {
	switch n := raw.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

func number(raw any) (float64, bool) {
	switch n := raw.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// show names a value that was refused, briefly: it may be anything.
func show(raw any) string {
	switch v := raw.(type) {
	case nil:
		return "nothing"
	case []any:
		return "a list"
	case map[string]any:
		return "a section"
	case string:
		if len(v) > 40 {
			v = v[:40] + "..."
		}
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
