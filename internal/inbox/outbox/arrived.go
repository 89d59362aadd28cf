package outbox

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A log of the broker may prove that a send without a known outcome arrived: a message there has its number.

const (
	// askTime and askedMessages bound the search in logs of brokers. A send that is not found is repeated.
	askTime       = 4 * time.Second
	askedMessages = 50_000
	askedAtOnce   = 1000
)

var errArrived = errors.New("a try before has arrived")

// sendName identifies a send in a message. Redrive and content distinguish numbers that a restored database assigns
// again.
type sendName struct {
	letter, redrive task.ID
	no              int
	content         string
}

func nameOf(e *seam.LogEntry) (n sendName) {
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

// arrived counts sends of unknown outcome at the ends of the logs of their destinations. A destination without a log or
// an answer proves nothing.
func (in *Outbox) arrived(ctx context.Context, due []deadletter.Send) map[sendName]int {
	asked, found := map[Place]bool{}, map[sendName]int{}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for i := range due {
		s := &due[i]
		topic, _, _ := strings.Cut(s.Destination, "#")
		at := Place{deadletter.SourceKey{Namespace: s.Namespace, Name: s.Source}, topic}
		if asked[at] {
			continue
		}
		asked[at] = true
		source, err := in.store.FindSource(ctx, s.Namespace, s.Source)
		if err == nil && source != nil && in.carriers[source.Driver] != nil {
			search(ctx, in.carriers[source.Driver], source, topic, found)
		}
	}
	return found
}

// search reads the end of a topic regardless of time: a message may have the time of its first event.
func search(ctx context.Context, c seam.Carrier, source *deadletter.Source, topic string, found map[sendName]int) {
	parts, err := c.LogParts(ctx, source, topic, time.Time{}, time.Time{})
	if err != nil {
		return
	}
	for _, part := range parts {
		part.Next = max(part.From, part.To-int64(askedMessages/len(parts)))
		for part.Next < part.To {
			entries, next, err := c.ReadLog(ctx, source, topic, part, askedAtOnce)
			if gone := (*seam.GoneError)(nil); err != nil && !errors.As(err, &gone) || next <= part.Next {
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

func named(s *deadletter.Send) sendName {
	return sendName{letter: s.Owner, redrive: s.About, no: s.No, content: s.Content}
}
