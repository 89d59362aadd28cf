package task

import (
	"strings"
	"unicode/utf8"
)

// AttemptLog is the end of an attempt's log.
type AttemptLog struct {
	Step    ID
	Task    ID
	Token   int64
	Attempt int
	At      Instant
	Bytes   int64
	Text    string
}

// LogsPerStep is the number of attempts with a log; the oldest are deleted first.
const LogsPerStep = 10

// LogTail returns at most limit bytes from the end, in whole characters, with U+FFFD for invalid UTF-8.
func LogTail(text string, limit int) string {
	if extra := len(text) - limit; extra > 0 {
		text = text[extra:]
		for i := 0; i < utf8.UTFMax && len(text) > 0 && !utf8.RuneStart(text[0]); i++ {
			text = text[1:]
		}
	}
	// A replacement is longer than its byte.
	valid := strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(valid) > limit {
		return LogTail(valid, limit)
	}
	return valid
}
