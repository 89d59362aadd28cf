package format

import (
	"strings"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// tasker is a message sent back by Tasker that died without another convention.
var tasker = convention{
	name:    "tasker",
	follows: func(m *message) bool { return m.has(deadletter.HeaderLetter) },
	decode:  func(*message, *Decoded) error { return nil },
}

// lineage removes Tasker's headers from content of any format: a message that was sent back dies under its consumer's
// convention. It ignores values that Tasker has not written.
func (d *Decoded) lineage() {
	for _, h := range d.Content.Headers {
		if len(h.Value) > 64 {
			continue
		}
		switch value := strings.TrimSpace(string(h.Value)); h.Name {
		case deadletter.HeaderLetter:
			d.Letter = id(value)
		case deadletter.HeaderRedrive:
			d.Redrive = id(value)
		case deadletter.HeaderReplays:
			d.Replays = count(value)
		}
	}
	d.Content.Headers = without(d.Content.Headers,
		among(deadletter.HeaderLetter, deadletter.HeaderRedrive, deadletter.HeaderReplays))
}

func id(s string) task.ID {
	parsed, err := task.ParseID(s)
	if err != nil {
		return task.ID{}
	}
	return parsed
}
