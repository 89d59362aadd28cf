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
	among    int  // attempts of so many events, from the one there on, may have begun
	stopped  bool // the member has left the partition in good order
}

// unread is the past of a partition of which the group has nothing. Nobody has left it.
var unread = past{offset: -1, note: note{stopped: true}}

// The text of a note: the mark, then words.
const (
	noteMark     = "tasker"
	noteFailures = "failures="
	noteStarted  = "started"
	noteAmong    = "among="
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
	if n.among > 0 {
		text += " " + noteAmong + strconv.Itoa(n.among)
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
		switch name, value, _ := strings.Cut(word, "="); {
		case name+"=" == noteFailures:
			n.failures = positive(value)
		case name+"=" == noteAmong:
			n.among = positive(value)
		case word == noteStarted:
			n.started = true
		case word == noteStopped:
			n.stopped = true
		}
	}
	return n
}

func positive(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
