package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func functions(s *Site) template.FuncMap {
	return template.FuncMap{
		"static": func(name string) string {
			if s.opts.Static == nil {
				return "/static/" + name
			}
			return s.opts.Static(name)
		},
		"dict":   dict,
		"num":    Number,
		"bytes":  Bytes,
		"span":   func(seconds float64) string { return Span(time.Duration(seconds * float64(time.Second))) },
		"dur":    Span,
		"short":  short,
		"plural": Plural,
		"cut":    func(n int, text string) string { return cut(text, n) },
		"when":   when,
		"words":  func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
		"json":   JSON,
		"worker": func(name string) string { name, _, _ = strings.Cut(name, " ("); return cut(name, 60) },
		"between": func(from, to any) string {
			a, b := moment(from), moment(to)
			if a.IsZero() || b.IsZero() {
				return "–"
			}
			return Span(b.Sub(a))
		},
		// from 0 to 1, in percent
		"share": func(of float64) string { return rounded(of*100) + " %" },
		"percent": func(part, whole int) string {
			if whole <= 0 {
				return "0 %"
			}
			return strconv.Itoa(int(math.Round(100*float64(part)/float64(whole)))) + " %"
		},
	}
}

// jsonBytes bounds a JSON text on a page.
const jsonBytes = 256 << 10

// JSON returns JSON with line breaks and exact numbers. Other text stays unchanged.
func JSON(raw json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return cut(string(raw), jsonBytes)
	}
	return cut(out.String(), jsonBytes)
}

// dict makes an argument of several values for a template: names and values in turn.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: a name lacks its value")
	}
	out := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pairs[i])
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// Number returns a whole number with a thin space between thousands: 1 248.
func Number(n any) string {
	var text string
	switch v := n.(type) {
	case int:
		text = strconv.Itoa(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case *int:
		if v == nil {
			return "–"
		}
		text = strconv.Itoa(*v)
	case float64:
		return rounded(v)
	default:
		return fmt.Sprint(n)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return sign + strings.Join(append([]string{text}, parts...), "\u202f")
}

// rounded chooses the number of decimals by the size.
func rounded(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case math.Abs(v) >= 100 || v == math.Trunc(v):
		return Number(int64(math.Round(v)))
	case math.Abs(v) >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Bytes returns a size: 512 B, 3.4 KiB.
func Bytes(n int) string {
	if n < 1024 {
		return strconv.Itoa(n) + " B"
	}
	v, units := float64(n)/1024, []string{"KiB", "MiB", "GiB", "TiB"}
	for i, unit := range units {
		if v < 1024 || i == len(units)-1 {
			return strconv.FormatFloat(v, 'f', 1, 64) + " " + unit
		}
		v /= 1024
	}
	return ""
}

// Span returns the two largest units: 3 d 4 h, 12 s, 340 ms.
func Span(d time.Duration) string {
	if d < 0 {
		return "−" + Span(-d)
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Millisecond:
		if d == 0 {
			return "0 s"
		}
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s")
	case d < day:
		return two(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min")
	}
	return two(int(d/day), "d", int(d%day/time.Hour), "h")
}

func two(a int, unit string, b int, smaller string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, smaller)
}

// short returns the last eight digits of a UUID: its first ones are the time, which neighbours share.
func short(id any) string {
	text := fmt.Sprint(id)
	if len(text) == 36 {
		return text[28:]
	}
	return text
}

// Plural returns a count and its noun: 1 letter, 3 letters. An irregular plural is a third argument.
func Plural(n any, one string, many ...string) string {
	word := one + "s"
	if len(many) > 0 {
		word = many[0]
	}
	if text := fmt.Sprint(n); text == "1" {
		word = one
	}
	return Number(n) + " " + word
}

// cut shortens to a number of bytes, at a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// when shows a relative time, with the exact one in the viewer's zone as title. A script keeps it current.
func when(r *Request, at any) template.HTML {
	t := moment(at)
	if t.IsZero() {
		return `<span class="none">–</span>`
	}
	exact := t.In(r.Zone).Format("2006-01-02 15:04:05 MST")
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.UTC().Format(time.RFC3339Nano),
		template.HTMLEscapeString(exact), relative(r.Now.Sub(t))))
}

func moment(at any) time.Time {
	switch v := at.(type) {
	case time.Time:
		return v
	case *time.Time:
		if v != nil {
			return *v
		}
	}
	return time.Time{}
}

// relative returns the distance of a time in its largest unit. app.js does the same.
func relative(d time.Duration) string {
	in := d < 0
	d = d.Abs()
	var text string
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		text = fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		text = fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		text = fmt.Sprintf("%d h", int(d.Hours()))
	default:
		text = fmt.Sprintf("%d d", int(d.Hours()/24))
	}
	if in {
		return "in " + text
	}
	return text + " ago"
}

// Exact returns a time in the viewer's zone.
func (r *Request) Exact(t time.Time) string { return t.In(r.Zone).Format("2006-01-02 15:04:05 MST") }

// Clock returns the time of day in the viewer's zone, for "1 248 selected at 10:04".
func (r *Request) Clock(t time.Time) string { return t.In(r.Zone).Format("15:04") }
