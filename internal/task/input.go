package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// The rules below hold for every value that comes from outside, whichever way it
// comes: HTTP, SDK, command line, YAML.
const (
	// MaxName bounds a name, a key or a label, in bytes.
	MaxName = 255
	// MaxDepth bounds how deep arrays and objects of stored JSON nest. Readers put it
	// into documents of their own, and parsers of other languages give up early.
	MaxDepth = 200
)

// Times that can be stored: from the first on, before the second. The zero Instant
// means never, and times past the year 9999 have no form in JSON; what is computed from
// a time may be later than it is.
const (
	minInstant Instant = 1
	maxInstant Instant = 221_845_392_000_000_000 // 9000-01-01T00:00:00Z
)

// outOfRange is what FromTime makes of a time that cannot be stored.
const outOfRange Instant = -1

// FromTime converts a time that comes from outside. Unlike At, it takes the zero time
// for a time and not for never. InstantFault tells whether the result can be stored.
func FromTime(t time.Time) Instant {
	if TimeFault(t) != "" {
		return outOfRange
	}
	return Instant(t.UnixMicro())
}

// FromOptional is FromTime for a time that may be missing: nil is the zero Instant.
func FromOptional(t *time.Time) Instant {
	if t == nil {
		return 0
	}
	return FromTime(*t)
}

// FromFilter is FromTime where the zero time means that there is no bound.
func FromFilter(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return FromTime(t)
}

// TimeFault says why a time cannot be stored, or "".
func TimeFault(t time.Time) string {
	// compared as times: the microseconds of a far one overflow
	if t.Before(time.UnixMicro(int64(minInstant))) || !t.Before(maxInstant.Time()) {
		return "must be after 1970-01-01T00:00:00Z and before 9000-01-01T00:00:00Z"
	}
	return ""
}

// InstantFault is TimeFault for an Instant that may be zero: that is never.
func InstantFault(i Instant) string {
	if i == 0 || minInstant <= i && i < maxInstant {
		return ""
	}
	return TimeFault(time.Time{})
}

// TextFault says what is wrong with a text of at most limit bytes that people read
// in logs, terminals and pages, or "". A text that may be no longer than a name is a
// name, and has no line breaks: stores keep lists of them one a line. Others are prose.
func TextFault(s string, limit int) string {
	if len(s) > limit {
		return fmt.Sprintf("is %d bytes long; the limit is %d", len(s), limit)
	}
	return CharacterFault(s, limit > MaxName)
}

// CharacterFault says which character must not be in a text, or "": none that controls
// a terminal or ends a string in some language, except line feeds and tabs in prose.
func CharacterFault(s string, prose bool) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, r := range s {
		if unicode.IsControl(r) && !(prose && (r == '\n' || r == '\t')) {
			return fmt.Sprintf("contains the control character %U", r)
		}
	}
	return ""
}

// JSONFault says what is wrong with a JSON document of at most limit bytes that is to
// be stored, or "". No document at all (nil) is right.
func JSONFault(p []byte, limit int) string {
	switch {
	case len(p) > limit:
		return fmt.Sprintf("is %d bytes long; the limit is %d: store large data elsewhere and submit a reference", len(p),
			limit)
	case p == nil:
		return ""
	case !utf8.Valid(p):
		return "is not valid UTF-8"
	case tooDeep(p):
		return fmt.Sprintf("nests deeper than %d levels", MaxDepth)
	case !json.Valid(p):
		return "is not valid JSON"
	}
	return ""
}

// tooDeep reports whether a JSON document nests deeper than MaxDepth.
func tooDeep(p []byte) bool {
	// Most documents have fewer brackets than that, and counting them costs next to nothing.
	if bytes.Count(p, []byte{'['})+bytes.Count(p, []byte{'{'}) <= MaxDepth {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case quoted && c == '\\':
			i++ // whatever is escaped
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}
