package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// Rules for every external value: HTTP, SDK, command line and YAML.
const (
	MaxName = 255
	// MaxDepth bounds the nesting of stored JSON, because readers embed it and parsers of other languages have low
	// limits.
	MaxDepth = 200
)

// Storable times are from minInstant and before maxInstant. The zero Instant means never, and times past the year
// 9999 have no form in JSON.
const (
	minInstant Instant = 1
	maxInstant Instant = 221_845_392_000_000_000 // 9000-01-01T00:00:00Z
)

const outOfRange Instant = -1

// FromTime converts an external time. Unlike At, it reads the zero time as a time. InstantFault checks the result.
func FromTime(t time.Time) Instant {
	if TimeFault(t) != "" {
		return outOfRange
	}
	return Instant(t.UnixMicro())
}

// FromOptional is FromTime; nil is the zero Instant.
func FromOptional(t *time.Time) Instant {
	if t == nil {
		return 0
	}
	return FromTime(*t)
}

// FromFilter is FromTime where the zero time is no bound.
func FromFilter(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return FromTime(t)
}

// TimeFault says why a time cannot be stored, or "".
func TimeFault(t time.Time) string {
	// compare times, because distant microseconds overflow
	if t.Before(time.UnixMicro(int64(minInstant))) || !t.Before(maxInstant.Time()) {
		return "must be after 1970-01-01T00:00:00Z and before 9000-01-01T00:00:00Z"
	}
	return ""
}

// InstantFault is TimeFault for an Instant; zero means never.
func InstantFault(i Instant) string {
	if i == 0 || minInstant <= i && i < maxInstant {
		return ""
	}
	return TimeFault(time.Time{})
}

// TextFault returns the fault of a text of at most limit bytes, or "". A text with the limit of a name must not have
// line breaks, because stores keep lists of names one a line.
func TextFault(s string, limit int) string {
	if len(s) > limit {
		return fmt.Sprintf("is %d bytes long; the limit is %d", len(s), limit)
	}
	return CharacterFault(s, limit > MaxName)
}

// CharacterFault names a character that controls terminals or ends strings in some languages, or returns "". Prose
// may have line feeds and tabs.
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

// JSONFault returns the fault of a document of at most limit bytes, or "". nil is valid.
func JSONFault(p []byte, limit int) string {
	switch {
	case len(p) > limit:
		return fmt.Sprintf("is %d bytes long; the limit is %d: store large data elsewhere and submit a reference", len(p),
			limit)
	case p == nil:
		return ""
	case bytes.HasPrefix(p, unopened):
		reason, _, _ := WhyUnopened(p)
		return "cannot be decrypted: " + reason
	case !utf8.Valid(p):
		return "is not valid UTF-8"
	case tooDeep(p):
		return fmt.Sprintf("nests deeper than %d levels", MaxDepth)
	case !json.Valid(p):
		return "is not valid JSON"
	}
	return ""
}

func tooDeep(p []byte) bool {
	// Most documents have fewer brackets, and counting is cheap.
	if bytes.Count(p, []byte{'['})+bytes.Count(p, []byte{'{'}) <= MaxDepth {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case quoted && c == '\\':
			i++
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
