package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/cli/terminal"
	"github.com/taskerhq/tasker/internal/kit/envelope"
)

// printJSON writes v, indented, as the result of a command, or as YAML with --output yaml. It encodes everything before
// it writes, so an error leaves no half document on standard output. A list has printList.
func (s *session) printJSON(v any) error {
	if k := reflect.ValueOf(v).Kind(); k == reflect.Slice {
		return errors.New("print a list with printList") // a fault of the program, which its tests find
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// The output is for terminals and jq; < and & are no danger there, and \u003c is hard to read.
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if s.output == "yaml" {
		text, err := toYAML(buf.Bytes())
		if err != nil {
			return err
		}
		return s.write(text)
	}
	return s.write(cleanJSON(buf.Bytes()))
}

// printList writes a list as JSON: an object with the list under the name of its items, as the pages of lists that have
// more than one. So all lists are read in the same way, and can get more members.
func (s *session) printList(name string, list any) error {
	if v := reflect.ValueOf(list); v.Len() == 0 {
		list = []any{} // not null
	}
	return s.printJSON(map[string]any{name: list})
}

// printJSONLine writes v as one line of JSON, or as one document of YAML, for streams.
func (s *session) printJSONLine(v any) error {
	if s.output == "yaml" {
		if err := s.write([]byte("---\n")); err != nil {
			return err
		}
		return s.printJSON(v)
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return s.write(append(cleanJSON(line), '\n'))
}

// printf writes a format of this program with arguments of any origin: string arguments are
// cleaned of control characters.
func (s *session) printf(format string, args ...any) error {
	for i, a := range args {
		// States and priorities are types of their own, so the check is by kind and not by
		// type.
		if v := reflect.ValueOf(a); v.Kind() == reflect.String {
			args[i] = clean(v.String())
		}
	}
	return s.write(fmt.Appendf(nil, format, args...))
}

// write writes to standard output as it is; the caller has cleaned b. An error, such as a
// closed pipe, fails the command.
func (s *session) write(b []byte) error {
	if !s.json && s.colored(s.Terminal) {
		b = paintMark(b)
	}
	if s.collected != nil {
		s.collected.Write(b)
		return nil
	}
	if _, err := s.Out.Write(b); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// fields builds " Name: value" lines for the details of one object. Empty values have no line,
// so that optional fields do not clutter the output.
type fields struct {
	b       strings.Builder
	indent  string
	columns int
}

// newFields starts the details of an object. Long values wrap as tables do.
func (s *session) newFields(indent string) fields {
	return fields{indent: indent, columns: s.columns()}
}

// String returns the lines.
func (f *fields) String() string { return f.b.String() }

// add adds a value of one line; control characters in it are escaped.
func (f *fields) add(name, value string) {
	if value != "" {
		f.b.WriteString(terminal.Field(f.indent+name+":", clean(value), len(f.indent)+4, f.columns) + "\n")
	}
}

// block adds a value of several lines, indented below its name. A value of one line is added as
// by add.
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

// sentence formats a sentence of the server as lines that fit the terminal, each with this indentation; "" for none.
func (s *session) sentence(indent, text string) string {
	if text == "" {
		return ""
	}
	first, rest, _ := strings.Cut(clean(text), " ")
	return terminal.Field(indent+first, rest, len(indent), s.columns()) + "\n"
}

// stamp formats a time for details: RFC 3339 in UTC, to the second. It returns "" for no time.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// stampAgo formats a time with its distance from now, "" for no time.
func (s *session) stampAgo(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return stamp(t) + " (" + s.ago(*t) + ")"
}

// ago formats the distance of t from now in one unit: "3m ago", "in 20s", "now". Tables use it,
// because their reader compares rows and does not need the exact time.
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

// brief formats a duration in its largest unit, rounded down: 20s, 3m, 5h, 12d. Days begin at
// 48 hours.
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

// compact formats JSON on one line. Text that is not JSON is returned unchanged: damaged data
// must be visible.
func compact(raw json.RawMessage) string {
	var buf bytes.Buffer
	if json.Compact(&buf, envelope.Shown(raw)) != nil {
		return string(raw)
	}
	return buf.String()
}
