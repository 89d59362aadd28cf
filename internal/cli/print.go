package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// printJSON writes v, indented, as the result of a command.
func (s *session) printJSON(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return s.write(cleanJSON(buf.Bytes()))
}

// printJSONLine writes v as one line.
func (s *session) printJSONLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return s.write(append(cleanJSON(line), '\n'))
}

// printf writes text that is known to be harmless but for its arguments:
// strings among them are cleaned.
func (s *session) printf(format string, args ...any) error {
	for i, a := range args {
		// By kind, because states and priorities are types of their own.
		if v := reflect.ValueOf(a); v.Kind() == reflect.String {
			args[i] = clean(v.String())
		}
	}
	return s.write(fmt.Appendf(nil, format, args...))
}

func (s *session) write(b []byte) error {
	if _, err := s.Out.Write(b); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// table writes rows in aligned columns under a header.
type table struct {
	w     *tabwriter.Writer
	notes strings.Builder // printed behind the table
}

func newTable(out io.Writer, header ...string) *table {
	t := &table{w: tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)}
	t.row(header...)
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = clean(c)
	}
	// The writer buffers; an error shows in flush.
	_, _ = io.WriteString(t.w, strings.Join(cells, "\t")+"\n")
}

// damaged reports a row that cannot be shown whole; it prints nothing when damage is "".
func (t *table) damaged(id, damage string) {
	if damage != "" {
		fmt.Fprintf(&t.notes, "Damaged: %s: %s\n", clean(id), clean(damage))
	}
}

func (t *table) flush() error {
	if t.notes.Len() > 0 {
		_, _ = io.WriteString(t.w, "\n"+t.notes.String())
	}
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// fields writes "  Name: value" lines and leaves out what is empty.
type fields struct {
	b      strings.Builder
	indent string
}

func (f *fields) add(name, value string) {
	if value != "" {
		fmt.Fprintf(&f.b, "%s%s: %s\n", f.indent, name, clean(value))
	}
}

// block adds a value of several lines, indented below its name.
func (f *fields) block(name, value string) {
	if value = strings.TrimRight(value, "\n"); value == "" {
		return
	}
	if !strings.Contains(value, "\n") {
		f.add(name, value)
		return
	}
	fmt.Fprintf(&f.b, "%s%s:\n", f.indent, name)
	for line := range strings.SplitSeq(cleanLines(value), "\n") {
		fmt.Fprintf(&f.b, "%s    %s\n", f.indent, line)
	}
}

// stamp is a time as it stands in details: absolute, in UTC, to the second.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// stampAgo is a stamp with its distance from now.
func (s *session) stampAgo(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return stamp(t) + " (" + s.ago(*t) + ")"
}

// ago is the distance of t from now in one unit: "3m ago", "in 20s", "now".
func (s *session) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := s.Now().Sub(t)
	switch {
	case d <= -time.Second:
		return "in " + brief(-d)
	case d < time.Second:
		return "now"
	}
	return brief(d) + " ago"
}

// brief is a duration in its largest unit: 20s, 3m, 5h, 12d.
func brief(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// compact is JSON on one line; text that is no JSON stays as it is.
func compact(raw json.RawMessage) string {
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return string(raw)
	}
	return buf.String()
}
