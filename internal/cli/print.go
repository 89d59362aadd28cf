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

// printJSON encodes v, or writes YAML with --output yaml, before it prints, so an error leaves no half document.
// Lists use printList.
func (s *session) printJSON(v any) error {
	if k := reflect.ValueOf(v).Kind(); k == reflect.Slice {
		return errors.New("print a list with printList") // a fault of the program, which its tests find
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// < and & are harmless for terminals and jq, and \u003c is hard to read.
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

// printList prints an object with the list under the name of its items, as a paged list, so all lists read alike
// and can get more members.
func (s *session) printList(name string, list any) error {
	if v := reflect.ValueOf(list); v.Len() == 0 {
		list = []any{} // not null
	}
	return s.printJSON(map[string]any{name: list})
}

// answered prints an answer of the server: unchanged with --json, else as text.
func answered[T any](s *session, text func(T) error) func(T, error) error {
	return func(answer T, err error) error {
		if err != nil || s.json {
			return s.jsonOf(answer, err)
		}
		return text(answer)
	}
}

// answeredList is answered for a list, which --json prints under a name.
func answeredList[T any](s *session, name string, text func([]T) error) func([]T, error) error {
	return func(list []T, err error) error {
		switch {
		case err != nil:
			return err
		case s.json:
			return s.printList(name, list)
		}
		return text(list)
	}
}

// alone makes a list of one answer.
func alone[T any](answer *T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return []T{*answer}, nil
}

// jsonOf prints an answer as JSON, unless there is none.
func (s *session) jsonOf(answer any, err error) error {
	if err != nil {
		return err
	}
	return s.printJSON(answer)
}

// printRemoved ends the removal of an object, which has no answer.
func (s *session) printRemoved(err error, format, name string) error {
	if err != nil || s.json {
		return s.jsonOf(struct {
			Removed bool `json:"removed"`
		}{true}, err)
	}
	return s.printf(format, name)
}

// printJSONLine writes a line of JSON, or a YAML document, for streams.
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

// printf cleans string arguments of control characters.
func (s *session) printf(format string, args ...any) error {
	for i, a := range args {
		// States and priorities have their own types, so check the kind.
		if v := reflect.ValueOf(a); v.Kind() == reflect.String {
			args[i] = clean(v.String())
		}
	}
	return s.write(fmt.Appendf(nil, format, args...))
}

// write prints clean bytes. An error, such as a closed pipe, fails the command.
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

// fields builds " Name: value" lines without empty values.
type fields struct {
	b       strings.Builder
	indent  string
	columns int
}

func (s *session) newFields(indent string) fields {
	return fields{indent: indent, columns: s.columns()}
}

func (f *fields) String() string { return f.b.String() }

func (f *fields) add(name, value string) {
	if value != "" {
		f.b.WriteString(terminal.Field(f.indent+name+":", clean(value), len(f.indent)+4, f.columns) + "\n")
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

// sentence wraps a server's sentence with an indentation; "" for none.
func (s *session) sentence(indent, text string) string {
	if text == "" {
		return ""
	}
	first, rest, _ := strings.Cut(clean(text), " ")
	return terminal.Field(indent+first, rest, len(indent), s.columns()) + "\n"
}

// stamp is RFC 3339 in UTC to the second; "" for no time.
func stamp(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func (s *session) stampAgo(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return stamp(t) + " (" + s.ago(*t) + ")"
}

// ago formats a distance from now in one unit: "3m ago", "in 20s", "now".
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

// brief formats a duration in its largest unit, rounded down: 20s, 3m, 5h, 12d. Days begin at 48 hours.
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

// compact formats JSON on one line, and returns other text, which is damaged, unchanged.
func compact(raw json.RawMessage) string {
	var buf bytes.Buffer
	if json.Compact(&buf, envelope.Shown(raw)) != nil {
		return string(raw)
	}
	return buf.String()
}
