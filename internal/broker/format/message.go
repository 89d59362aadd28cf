package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// message has look-ups for decoders. It parses the payload at most once.
type message struct {
	*driver.Message
	parsed bool
	object map[string]json.RawMessage // of a payload that is a JSON object
	err    error                      // why it is none
}

func (m *message) has(names ...string) bool {
	return slices.ContainsFunc(m.Headers, func(h deadletter.Header) bool { return slices.Contains(names, h.Name) })
}

func (m *message) first(name string) []byte {
	for _, h := range m.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return nil
}

// last returns the last header of that name, or nil. Where frameworks append repeatedly, the first is of the first
// failure.
func (m *message) last(name string) []byte {
	for _, h := range slices.Backward(m.Headers) {
		if h.Name == name {
			return h.Value
		}
	}
	return nil
}

func without(headers []deadletter.Header, drop func(name string) bool) []deadletter.Header {
	selected := func(h deadletter.Header) bool { return drop(h.Name) }
	if !slices.ContainsFunc(headers, selected) {
		return headers
	}
	return slices.DeleteFunc(slices.Clone(headers), selected)
}

func withPrefix(prefixes ...string) func(string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
}

func among(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func (m *message) fields() (map[string]json.RawMessage, error) {
	if !m.parsed {
		m.parsed = true
		if !m.isObject() {
			m.err = errors.New("its payload is not a JSON object")
		} else if err := json.Unmarshal(m.Payload, &m.object); err != nil {
			m.err = fmt.Errorf("its payload is not JSON: %w", err)
		}
	}
	return m.object, m.err
}

func (m *message) isObject() bool {
	return bytes.HasPrefix(bytes.TrimLeft(m.Payload, " \t\r\n"), []byte("{"))
}

// members reports whether the payload is a JSON object with all these members. It parses only payloads that contain the
// names: programs do not escape them.
func (m *message) members(names ...string) bool {
	unmentioned := func(name string) bool { return !bytes.Contains(m.Payload, []byte(`"`+name+`"`)) }
	if !m.isObject() || slices.ContainsFunc(names, unmentioned) {
		return false
	}
	object, err := m.fields()
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { return object[name] == nil })
}

// jsonText returns a JSON string's text, "" for null, and any other value as written.
func jsonText(raw json.RawMessage) string {
	var s *string
	if len(raw) == 0 {
		return ""
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(raw)
	}
	if s == nil {
		return ""
	}
	return *s
}

func jsonName(raw json.RawMessage) string {
	if !bytes.HasPrefix(raw, []byte(`"`)) {
		return ""
	}
	return jsonText(raw)
}

func jsonCount(raw json.RawMessage) int { return count(jsonText(raw)) }

func count(s string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(f >= 0) {
		return 0
	}
	return int(min(f, maxCount))
}

// layouts are how conventions write times. Python and Java omit the zone of UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700"}

// instant reads a time: one of the layouts, or seconds, milliseconds, microseconds or nanoseconds since 1970, whichever
// is plausible. It is 0 for anything else, and outside the years 1970 to 9999.
func instant(s string) task.Instant {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return 0
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return within(t)
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return since1970(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e11 { // seconds, as from Python's time()
		return within(time.UnixMicro(int64(f * 1e6)))
	}
	return 0
}

// since1970 reads seconds (below the year 5138), milliseconds (from 1973), microseconds or nanoseconds.
func since1970(n int64) task.Instant {
	switch {
	case n <= 0:
		return 0
	case n < 1e11:
		return within(time.Unix(n, 0))
	case n < 1e14:
		return within(time.UnixMilli(n))
	case n < 1e17:
		return within(time.UnixMicro(n))
	}
	return within(time.Unix(0, n))
}

func within(t time.Time) task.Instant {
	if y := t.UTC().Year(); y < 1970 || y > 9999 {
		return 0
	}
	return task.At(t)
}

func shown(i task.Instant) string {
	if i == 0 {
		return ""
	}
	return i.Time().Format(time.RFC3339Nano)
}
