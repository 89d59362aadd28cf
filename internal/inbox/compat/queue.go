// Package compat shows letters as other APIs see them: as jobs in queues of dead letters, and by topic. Jobs that are
// put back or retried are redrives, and a queue is cleared by discarding its letters.
package compat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// QueuePrefix begins the name of a dead letter queue, before the name of the queue of its jobs.
const QueuePrefix = "dlq:"

// overflowPrefix follows QueuePrefix in the name of a queue of jobs that did not fit into their queue.
const overflowPrefix = "overflow:"

const (
	// CountedLetters bounds the count of letters of a queue.
	CountedLetters = 1_000_000
	depthTime      = 5 * time.Second
	// bytes of letters on a page, roughly, and letters per read
	pageBytes, pagePart       = 16 << 20, 20
	catchUpTime, catchUpEvery = time.Second, 20 * time.Millisecond
)

// Views are letters as other APIs see them.
type Views struct {
	*desk.Desk
	store    Store
	carriers seam.Carriers
	sources  *sources.Registry
	letters  *letters.Keeper
	redrive  *redrive.Redriver
}

// New returns Views.
func New(d *desk.Desk, store Store, carriers seam.Carriers, sources *sources.Registry, letters *letters.Keeper,
	redrive *redrive.Redriver,
) *Views {
	return &Views{d, store, carriers, sources, letters, redrive}
}

// Queue is a source as an application sees it: a dead letter queue with a name.
type Queue struct {
	Source *deadletter.Source
	Name   string
	// Letters wait for a decision or their policy, up to a million; Capped: there are more.
	Letters int
	Capped  bool
	Waiting int64 // not captured yet; 0 where the broker does not count
}

// Depth is the number of jobs in the queue. A message may briefly count twice during its capture.
func (q *Queue) Depth() int64 { return int64(q.Letters) + q.Waiting }

// Origin is the queue of the jobs of a dead letter queue; "" if the name does not tell.
func (q *Queue) Origin() string {
	if name, ok := strings.CutPrefix(q.Name, QueuePrefix); ok {
		return strings.TrimPrefix(name, overflowPrefix)
	}
	return ""
}

// Queues returns the sources of a namespace as queues, by name, and asks each broker; a source with an intake counts
// only its letters. Unavailable: a broker does not answer. Conflict: it refuses.
func (in *Views) Queues(ctx context.Context, namespace string) ([]Queue, error) {
	if err := desk.Reach(ctx, namespace); err != nil {
		return nil, err
	}
	sources, err := in.store.Sources(ctx, namespace)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, depthTime)
	defer cancel()
	var out []Queue
	for _, s := range sources {
		q := queueOf(s)
		if s.Intake == nil { // first: a message captured in between must count twice rather than not at all
			if q.Waiting, err = in.carriers.Waiting(ctx, s); err != nil {
				return nil, err
			}
		}
		if q.Letters, err = in.store.OpenLetters(ctx, s.Namespace, s.Name, CountedLetters+1); err != nil {
			return nil, err
		}
		q.Letters, q.Capped = desk.AtMost(q.Letters, CountedLetters)
		if s.Intake != nil && q.Letters == 0 {
			continue // jobs that have not run wait there, no failures
		}
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, b Queue) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func queueOf(s *deadletter.Source) Queue {
	if s.Queue == "" {
		return Queue{Source: s, Name: s.Name}
	}
	return Queue{Source: s, Name: s.Queue}
}

func (q *Queue) filter(states ...model.LetterState) QueueFilter {
	return QueueFilter{Namespace: q.Source.Namespace, Source: q.Source.Name, States: states}
}

// FindQueue returns a queue without counts: the source that reads the queue of that name, else the source of that name.
// The prefix "dlq:" may be left out, or added to the name of a source. Conflict: several sources read it.
func (in *Views) FindQueue(ctx context.Context, namespace, name string) (*Queue, error) {
	fault := task.TextFault(namespace, desk.MaxName) + task.TextFault(name, desk.MaxName)
	if name == "" || !desk.Reaches(ctx, namespace) || fault != "" {
		return nil, noQueue(name)
	}
	sources, err := in.store.Sources(ctx, namespace)
	if err != nil {
		return nil, err
	}
	full := name
	if !strings.HasPrefix(name, QueuePrefix) {
		full = QueuePrefix + name
	}
	for _, is := range []func(*deadletter.Source) bool{
		func(s *deadletter.Source) bool { return s.Queue == full },
		func(s *deadletter.Source) bool { return s.Queue == name },
		func(s *deadletter.Source) bool { return s.Name == name },
		func(s *deadletter.Source) bool { return s.Name == full },
		// The prefix names a source whose bare name is the path of another route.
		func(s *deadletter.Source) bool { return QueuePrefix+s.Name == name },
	} {
		var found []string
		var q Queue
		for _, s := range sources {
			if is(s) {
				found, q = append(found, s.Name), queueOf(s)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return &q, nil
		}
		return nil, desk.Hinted(task.Conflict, "name a source instead of the queue: "+strings.Join(found, ", "),
			"several sources read the queue %q", q.Name)
	}
	return nil, noQueue(name)
}

func noQueue(name string) error {
	return desk.Hinted(task.NotFound, "it must be the queue of a source: see tasker source list",
		"there is no dead letter queue %q", name)
}

// catchUp waits up to a second until the messages of a source are captured: an application that has pushed a job
// expects to see it. It does not wait for a source that is not read. The error says that the broker does not answer,
// for which it has longer.
func (in *Views) catchUp(ctx context.Context, s *deadletter.Source) error {
	carrier := in.carriers.Of(s)
	ctx, cancel := context.WithTimeout(ctx, depthTime)
	defer cancel()
	for begun, again := time.Now(), false; ; again = true {
		n, err := in.carriers.Waiting(ctx, s)
		// It looks once more, as messages may be between broker and inbox.
		if err != nil || s.Paused || n == 0 && (again || carrier == nil || !carrier.OnTheWay(s)) ||
			time.Since(begun) >= catchUpTime {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(catchUpEvery):
		}
	}
}

var inQueue = []model.LetterState{model.LetterOpen, model.LetterScheduled}

// QueueLetters returns letters of a queue from a place, whole, the oldest first, and their total, up to
// CountedLetters+1. A page of large letters is shorter than limit. Letters captured or sent back between two pages move
// the places of others. Unavailable: the queue is empty, and its broker does not answer.
func (in *Views) QueueLetters(ctx context.Context, q *Queue, start, limit int) ([]*deadletter.Letter, int, error) {
	if err := in.Limit(limit); err != nil {
		return nil, 0, err
	}
	lost := in.catchUp(ctx, q.Source)
	total, err := in.store.OpenLetters(ctx, q.Source.Namespace, q.Source.Name, CountedLetters+1)
	if err != nil {
		return nil, 0, err
	}
	if total == 0 {
		return nil, 0, lost
	}
	if start >= total {
		return nil, total, nil
	}
	f := q.filter(inQueue...)
	f.Skip, f.Limit = start, limit
	ids, err := in.store.OldestLetters(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	parts, err := in.ByBytes(ctx, ids, pagePart, pageBytes)
	if err != nil {
		return nil, 0, err
	}
	var letters []*deadletter.Letter
	size := 0
	for _, part := range parts {
		whole, err := in.store.WholeLetters(ctx, part)
		if err != nil {
			return nil, 0, err
		}
		letters = append(letters, whole...)
		for _, l := range whole {
			size += len(l.Outgoing().Payload) + len(l.Stack)
		}
		if size > pageBytes {
			break
		}
	}
	return letters, total, nil
}

// ByBytes divides letters into parts of at most so many and about so many bytes: 500 of the largest do not fit into
// memory.
func (in *Views) ByBytes(ctx context.Context, ids []task.ID, count, bytes int) ([][]task.ID, error) {
	sizes, err := in.store.LetterBytes(ctx, ids)
	if err != nil {
		return nil, err
	}
	var parts [][]task.ID
	first, size := 0, 0
	for i, id := range ids {
		if size += sizes[id]; size >= bytes || i+1-first == count || i+1 == len(ids) {
			parts = append(parts, ids[first:i+1])
			first, size = i+1, 0
		}
	}
	return parts, nil
}

// QueueFilter selects letters of one source, ordered by ID, which is the time of the first capture.
type QueueFilter struct {
	Namespace, Source string
	States            []model.LetterState
	// Zero fields do not restrict.
	Parked *bool
	Reason string // beginning of the reason
	At     task.Instant
	Above  task.ID
	// Skip leaves out the first ones. Time grows with Skip and Limit.
	Skip, Limit int
}
