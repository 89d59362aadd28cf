package inbox

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Before a send without a known outcome is made again, the log of its broker is searched, where there is one: a message
// with the number of the send proves that it has arrived.

const (
	// askTime and askedMessages bound the search in the logs of brokers: what is not found in it is sent again.
	askTime       = 4 * time.Second
	askedMessages = 50_000
)

// errArrived is the outcome of a send that has arrived by a try before.
var errArrived = errors.New("a try before has arrived")

// sendName is what a message says of its send. Redrive and content tell numbers apart that a restored database gives
// out again.
type sendName struct {
	letter, redrive task.ID
	no              int
	content         string // see Canonical
}

// nameOf reads a message; zero if it names no send.
func nameOf(e *LogEntry) (n sendName) {
	var err, bad error
	for _, h := range e.Headers {
		switch h.Name {
		case deadletter.HeaderLetter:
			n.letter, err = task.ParseID(string(h.Value))
		case deadletter.HeaderRedrive:
			n.redrive, err = task.ParseID(string(h.Value))
		case deadletter.HeaderReplays:
			n.no, err = strconv.Atoi(string(h.Value))
		}
		bad = errors.Join(bad, err)
	}
	if bad != nil || n.letter.IsZero() {
		return sendName{}
	}
	n.content = deadletter.Canonical(e.Arrival().Content)
	return n
}

// arrived returns how often sends that may have arrived stand at the ends of the logs of their destinations. A
// destination that keeps none, or does not answer, proves nothing.
func (in *Inbox) arrived(ctx context.Context, due []deadletter.Send) map[sendName]int {
	asked, found := map[place]bool{}, map[sendName]int{}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for i := range due {
		s := &due[i]
		topic, _, _ := strings.Cut(s.Destination, "#") // a partition of it
		at := place{deadletter.SourceKey{Namespace: s.Namespace, Name: s.Source}, topic}
		if asked[at] {
			continue
		}
		asked[at] = true
		source, err := in.store.FindSource(ctx, s.Namespace, s.Source)
		if err == nil && source != nil && in.opts.Carriers[source.Driver] != nil {
			search(ctx, in.opts.Carriers[source.Driver], source, topic, found)
		}
	}
	return found
}

// search counts the sends at the end of a topic. It does not ask for a time: a message may have that of its first
// event.
func search(ctx context.Context, c Carrier, source *deadletter.Source, topic string, found map[sendName]int) {
	parts, err := c.LogParts(ctx, source, topic, time.Time{}, time.Time{})
	if err != nil {
		return
	}
	for _, part := range parts {
		part.Next = max(part.From, part.To-int64(askedMessages/len(parts)))
		for part.Next < part.To {
			entries, next, err := c.ReadLog(ctx, source, topic, part, replayBatch)
			if gone := (*GoneError)(nil); err != nil && !errors.As(err, &gone) || next <= part.Next {
				break
			}
			for i := range entries {
				if n := nameOf(&entries[i]); !n.letter.IsZero() {
					found[n]++
				}
			}
			part.Next = next
		}
	}
}

// named returns what the message of a send of a letter says of it.
func named(s *deadletter.Send) sendName {
	return sendName{letter: s.Owner, redrive: s.About, no: s.No, content: s.Content}
}
