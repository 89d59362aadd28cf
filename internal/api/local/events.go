package local

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/news"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// StreamEvents implements tasker.TaskBackend. It blocks between batches, and ends without an error when every task is
// settled or the engine stops. The listener exists only while the sequence is read: changes before the first read, or
// after the loop ends, are not delivered. A consumer without gaps passes the ID of its last event. An error ends the
// sequence.
func (b *Backend) StreamEvents(ctx context.Context, f tasker.EventFilter) iter.Seq2[[]tasker.Event, error] {
	return func(yield func([]tasker.Event, error) bool) {
		l, err := b.listen(ctx, f)
		if err != nil {
			yield(nil, ToError(err))
			return
		}
		defer l.Close()
		for {
			notices, err := l.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			var batch []tasker.Event
			if err == nil {
				batch, err = b.fromNotices(ctx, notices)
			}
			// fromNotices returns no batch with an error.
			if !yield(batch, ToError(err)) || err != nil {
				return
			}
		}
	}
}

// listen checks a filter and starts a listener, which the caller closes. Exhausted: there are too many. CodeInvalid
// names each fault; an unknown type or state is refused rather than never delivered.
func (b *Backend) listen(ctx context.Context, f tasker.EventFilter) (*feed.Listener, error) {
	l := feed.Filter{Tasks: toIDs(f.Tasks), UntilSettled: f.UntilSettled, Namespaces: f.Namespaces, Name: f.Name,
		Tag: f.Tag, CorrelationID: f.CorrelationID, Queue: f.Queue, After: f.LastEventID}
	var faults filterFaults
	faults.names("name", f.Name, "tag", f.Tag, "correlation_id", f.CorrelationID)
	faults.all("namespace", f.Namespaces)
	for _, t := range f.Types {
		if !knownEvent(t) {
			faults.add("type", "there is no event type \""+string(t)+"\"")
		}
		l.Kinds = append(l.Kinds, feed.ChangeKind(t))
	}
	for _, s := range f.States {
		if !knownState(task.State(s)) {
			faults.add("state", "there is no task state \""+string(s)+"\"")
		}
		l.States = append(l.States, task.State(s))
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return b.engine.ListenTo(ctx, l)
}

// knownEvent reports whether the type is valid in a filter: a stream's events about itself are not.
func knownEvent(t tasker.EventType) bool {
	switch t {
	case tasker.EventTaskSubmitted, tasker.EventTaskState, tasker.EventCaseOpened, tasker.EventCaseResolved,
		tasker.EventQueueStats:
		return true
	}
	return slices.Contains(deadletter.EventKinds, deadletter.EventKind(t))
}

// fromNotices adds names of templates and priorities; the feed carries IDs and levels.
func (b *Backend) fromNotices(ctx context.Context, notices []feed.Notice) ([]tasker.Event, error) {
	batch := make([]tasker.Event, len(notices))
	for i := range notices {
		n, e := &notices[i], &batch[i]
		*e = tasker.Event{ID: n.Position, Type: tasker.EventType(n.Kind), At: n.At.Time(), Cause: n.Cause,
			CorrelationID: n.CorrelationID, Tags: n.Tags,
			FromState: tasker.TaskState(n.From), ToState: tasker.TaskState(n.To), CaseUUID: optionalUUID(n.Case),
			CaseReason: tasker.CaseReason(n.Reason), ResolutionStatus: tasker.CaseResolution(n.Status)}
		if n.Queue != nil {
			e.Queue = &tasker.QueueDepth{Ready: n.Queue.Ready, Capped: n.Queue.Capped, ByPriority: map[string]int{}}
			for level, steps := range n.Queue.ByLevel {
				e.Queue.ByPriority[b.engine.PriorityName(level)] = steps
			}
		}
		if n.Inbox != nil {
			*e = news.Event(n.Inbox)
			e.ID = n.Position
			continue
		}
		// Only the statistics of the queue have no task.
		if n.Task.IsZero() {
			continue
		}
		t, err := b.engine.TemplateOf(ctx, n.DefID)
		if err != nil {
			return nil, err
		}
		e.TaskUUID, e.Namespace, e.Name = optionalUUID(n.Task), t.Namespace, t.Name
		e.Priority = tasker.Priority(b.engine.PriorityName(n.Priority))
	}
	return batch, nil
}
