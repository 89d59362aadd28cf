package kafka

import (
	"strconv"
	"strings"
)

// note is what is stored with an offset that the group has committed. Without one, a member has the partition, or its
// process has ended without a word.
type note struct {
	failures int  // of the event there, without an attempt that has started
	started  bool // an attempt of the event has begun
	stopped  bool // the member has left the partition in good order
}

// unread is the past of a partition of which the group has nothing. Nobody has left it.
var unread = past{offset: -1, note: note{stopped: true}}

// The text of a note: the mark, then words.
const (
	noteMark     = "tasker"
	noteFailures = "failures="
	noteStarted  = "started"
	noteStopped  = "stopped"
)

// String returns the text that is stored; "" for nothing.
func (n note) String() string {
	text := ""
	if n.failures > 0 {
		text += " " + noteFailures + strconv.Itoa(n.failures)
	}
	if n.started {
		text += " " + noteStarted
	}
	if n.stopped {
		text += " " + noteStopped
	}
	if text == "" {
		return ""
	}
	return noteMark + text
}

// parseNote reads such a text. Of one by somebody else it takes nothing.
func parseNote(text string) (n note) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != noteMark {
		return n
	}
	for _, word := range words[1:] {
		switch of, ok := strings.CutPrefix(word, noteFailures); {
		case ok:
			if failures, err := strconv.Atoi(of); err == nil && failures > 0 {
				n.failures = failures
			}
		case word == noteStarted:
			n.started = true
		case word == noteStopped:
			n.stopped = true
		}
	}
	return n
}
