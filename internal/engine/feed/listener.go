package feed

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TaskStatus is the part of a task that listeners see.
type TaskStatus struct {
	ID            task.ID
	DefID         int64
	State         task.State
	StateAt       task.Instant
	Priority      int
	CorrelationID string
	Tags          []string
}

// readStates passes new states to the listeners on the tasks, or to only one. The change to a state may come later,
// or be of another process. Versions distinguish a state read before a newer change; see apply.
func (f *Feed) readStates(ctx context.Context, src Source, ids []task.ID, only *Listener) error {
	asked := f.versions(ids, only)
	if len(asked) == 0 {
		return nil
	}
	found, err := src.TaskStatuses(ctx, ids)
	if err != nil {
		return fmt.Errorf("read the states of tasks: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range found {
		for l := range f.about[s.ID] {
			if version, ok := asked[l.tasks[s.ID]]; ok {
				l.apply(s, version)
			}
		}
	}
	return nil
}

func (f *Feed) versions(ids []task.ID, only *Listener) map[*knownState]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[*knownState]int{}
	for _, id := range ids {
		for l := range f.about[id] {
			if only == nil || l == only {
				all[l.tasks[id]] = l.tasks[id].version
			}
		}
	}
	return all
}

// apply passes on a state that was read at a version. The caller holds mu.
func (l *Listener) apply(s TaskStatus, version int) {
	k := l.tasks[s.ID]
	fresh := k.version == 0
	// else it may be older than the last change
	newer := s.StateAt > k.at || s.StateAt == k.at && k.version == version
	if !fresh && (!newer || s.State == k.state) {
		return
	}
	c := Change{Kind: TaskMoved, At: s.StateAt, Task: s.ID, DefID: s.DefID, Priority: s.Priority,
		CorrelationID: s.CorrelationID, Tags: s.Tags, To: s.State}
	if !fresh {
		c.From = k.state
	}
	l.learn(k, s.State, s.StateAt)
	k.version++
	l.put(pendingChange{0, c})
}

// put drops changes beyond maxPending, because the states are read again then. The caller holds mu.
func (l *Listener) put(h pendingChange) {
	if len(l.pending) >= maxPending {
		l.lost = true
	}
	if !l.lost {
		l.pending = append(l.pending, h)
	}
	l.wake()
}

// Next returns the changes since the last call, in order. It blocks until there are some, ctx or the stream ends
// (io.EOF), or 15 seconds pass: then it returns a StreamAlive notice. The first call does not block.
func (l *Listener) Next(ctx context.Context) ([]Notice, error) {
	beat := time.NewTimer(listenHeartbeat)
	defer beat.Stop()
	for {
		if l.done {
			return nil, io.EOF
		}
		if !l.rest(ctx) {
			return nil, ctx.Err()
		}
		batch, more, err := l.take(ctx)
		if err != nil || len(batch) > 0 {
			l.begun = true
			return batch, err
		}
		if l.done {
			continue
		}
		if !l.begun {
			l.begun = true
			return []Notice{l.here(StreamAlive, "")}, nil
		}
		select {
		case <-more:
		case <-l.ready:
		case <-l.counting():
			l.count.Reset(time.Second)
			if batch, err := l.countQueue(ctx); err != nil || len(batch) > 0 {
				return batch, err
			}
		case <-beat.C:
			return []Notice{l.here(StreamAlive, "")}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// rest reports whether ctx is alive. The batch that ends the stream does not wait.
func (l *Listener) rest(ctx context.Context) bool {
	if l.resting == nil {
		return ctx.Err() == nil
	}
	select {
	case <-l.resting.C:
	case <-l.settled:
		l.resting.Stop()
	case <-ctx.Done():
		return false
	}
	l.resting = nil
	return true
}

func (l *Listener) counting() <-chan time.Time {
	if l.count == nil {
		return nil
	}
	return l.count.C
}

// here returns a notice on the stream, at the listener's position.
func (l *Listener) here(kind ChangeKind, why string) Notice {
	f := l.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	return Notice{Change: Change{Kind: kind, At: f.now(), Cause: why}, Position: f.position(l.pos)}
}

// take also returns a channel that is closed when there are more. It reads the database without the feed's mutex.
func (l *Listener) take(ctx context.Context) ([]Notice, <-chan struct{}, error) {
	batch := l.first
	l.first = nil
	list, more, lost, err := l.collect()
	if err != nil {
		return nil, nil, err
	}
	if lost != "" {
		batch = append(batch, l.here(StreamGap, lost))
		if err := l.feed.readStates(ctx, l.src, l.filter.Tasks, l); err != nil {
			return nil, nil, err
		}
	}
	for _, h := range list {
		wanted, err := l.wants(ctx, &h.Change)
		if err != nil {
			return nil, nil, err
		}
		if wanted {
			batch = append(batch, Notice{Change: h.Change, Position: l.feed.position(h.seq + 1)})
		}
	}
	if len(list) > 0 && l.begun { // the first changes after the greeting do not wait
		l.resting = time.NewTimer(batchInterval)
	}
	return batch, more, nil
}

// collect returns in lost why changes are missing.
func (l *Listener) collect() (list []pendingChange, more <-chan struct{}, lost string, err error) {
	f := l.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.failed != nil {
		return nil, nil, "", l.failed
	}
	if l.tasks != nil {
		list, lost = l.collectPending()
		return list, nil, lost, nil
	}
	if l.pos < f.first {
		l.pos = f.next
		lost = "events were dropped: the stream was read too slowly"
	}
	for l.pos < f.next && len(list) < listenBatch {
		list = append(list, pendingChange{l.pos, f.ring[l.pos%feedSize]})
		l.pos++
	}
	if l.pos < f.next {
		l.wake() // there is more already
	}
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return list, f.more, lost, nil
}

// collectPending is collect for a listener on tasks. The caller holds mu.
func (l *Listener) collectPending() (list []pendingChange, lost string) {
	if l.lost {
		for _, k := range l.tasks {
			k.version = 0 // their states are read again
		}
		l.pending, l.lost, l.pos = nil, false, l.feed.next
		return nil, "events of the tasks were dropped, or the outcome of a transaction is unknown"
	}
	list, l.pending = l.pending, nil
	for i, h := range list {
		if h.seq == 0 {
			list[i].seq = l.pos - 1
		}
		l.pos = list[i].seq + 1
	}
	l.pos = l.feed.next
	l.done = l.filter.UntilSettled && l.open == 0
	return list, ""
}

// wants checks the cheap conditions first; the template is usually cached.
func (l *Listener) wants(ctx context.Context, c *Change) (bool, error) {
	f := &l.filter
	switch {
	case c.Kind == StreamGap:
		return true, nil
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, c.Kind),
		len(f.States) > 0 && c.To != "" && !slices.Contains(f.States, c.To),
		f.Tag != "" && !slices.Contains(c.Tags, f.Tag),
		f.CorrelationID != "" && c.CorrelationID != f.CorrelationID:
		return false, nil
	case c.Inbox != nil:
		return f.passesInbox(c.Inbox), nil
	case len(f.Namespaces) == 0 && f.Name == "":
		return true, nil
	}
	t, err := l.src.TemplateOf(ctx, c.DefID)
	if err != nil {
		return false, err
	}
	return (len(f.Namespaces) == 0 || slices.Contains(f.Namespaces, t.Namespace)) && (f.Name == "" || t.Name == f.Name),
		nil
}

// passesInbox is false for filters on tasks.
func (f *Filter) passesInbox(e *deadletter.Event) bool {
	return f.Name == "" && f.Tag == "" && f.CorrelationID == "" &&
		(len(f.Namespaces) == 0 || slices.Contains(f.Namespaces, e.Namespace))
}

// countQueue returns the number of ready steps if it has changed.
func (l *Listener) countQueue(ctx context.Context) ([]Notice, error) {
	q, err := l.src.CountQueue(ctx, l.filter.Namespaces)
	if err != nil {
		return nil, err
	}
	if l.last != nil && l.last.Ready == q.Ready && l.last.Capped == q.Capped && maps.Equal(l.last.ByLevel, q.ByLevel) {
		return nil, nil
	}
	l.last = q
	n := l.here(QueueCounted, "")
	n.Queue = q
	return []Notice{n}, nil
}
