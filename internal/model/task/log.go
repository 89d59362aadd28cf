package task

import (
	"strings"
	"unicode/utf8"
)

// AttemptLog is the end of what an attempt has logged.
type AttemptLog struct {
	Step    ID
	Task    ID
	Token   int64 // of the lease of the attempt
	Attempt int   // its number
	At      Instant
	Bytes   int64  // that were logged in all
	Text    string // the end of them
}

// LogsPerStep is how many attempts of a step have a log. The oldest logs are deleted first.
const LogsPerStep = 10

// LogTail returns the end of a text, of at most limit bytes and whole characters. What is not UTF-8 becomes U+FFFD.
func LogTail(text string, limit int) string {
	if extra := len(text) - limit; extra > 0 {
		text = text[extra:]
		for i := 0; i < utf8.UTFMax && len(text) > 0 && !utf8.RuneStart(text[0]); i++ {
			text = text[1:]
		}
	}
	// A replacement is longer than the byte that it replaces.
	valid := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(valid) > limit {
		return LogTail(valid, limit)
	}
	return valid
}
