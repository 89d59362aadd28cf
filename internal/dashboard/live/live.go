// Package live notifies browsers of changes: one subscription to the events of the engine serves every viewer of a
// node.
//
// A viewer receives topics, not events: "inbox" means that pages about the inbox may be out of date, and the browser
// requests its page again. Reports come at most once a second, so the cost of a busy queue does not grow with the
// number of viewers.
package live

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Topic is a part of the system that a page shows.
type Topic = string

// The topics.
const (
	Tasks    Topic = "tasks"
	Cases    Topic = "cases"
	Inbox    Topic = "inbox"
	Redrives Topic = "redrives"
	Sources  Topic = "sources"
	// Clock is reported every few seconds, for content without events: queues, workers, and times.
	Clock Topic = "clock"
)

func topicsOf(e *tasker.Event) []Topic {
	switch e.Type {
	case tasker.EventTaskSubmitted, tasker.EventTaskState:
		return []Topic{Tasks}
	case tasker.EventCaseOpened, tasker.EventCaseResolved:
		return []Topic{Cases, Inbox}
	case tasker.EventGroupNew, tasker.EventGroupRegression, tasker.EventGroupBurst, tasker.EventGroupState:
		return []Topic{Inbox}
	case tasker.EventRedriveState, tasker.EventReplayState:
		return []Topic{Redrives, Inbox}
	case tasker.EventOutageOpened, tasker.EventOutageClosed:
		return []Topic{Inbox, Clock}
	case tasker.EventPauseBegun, tasker.EventPauseEnded, tasker.EventScheduleFired, tasker.EventScheduleMissed:
		return []Topic{Clock}
	case tasker.EventApprovalRequested, tasker.EventApprovalDecided:
		return []Topic{Clock}
	case tasker.EventSourceLost, tasker.EventSourceFound:
		return []Topic{Sources}
	case tasker.EventLetterRetrying, tasker.EventLetterRetried, tasker.EventLetterDiscarded:
		return []Topic{Inbox}
	case tasker.EventStreamGap: // something was missed
		return []Topic{Tasks, Cases, Inbox, Redrives, Sources}
	}
	return nil
}

// Stream yields the events of all namespaces. It is tasker.TaskBackend.StreamEvents.
type Stream func(ctx context.Context, filter tasker.EventFilter) iter.Seq2[[]tasker.Event, error]

// Times of a Hub.
const (
	tick  = time.Second     // between two reports to viewers
	clock = 5 * time.Second // between two reports of Clock
	again = 2 * time.Second // before a lost stream is opened again
)

// Hub reports changes to viewers. It listens to events only while there are viewers.
type Hub struct {
	stream Stream
	log    *slog.Logger
	max    int

	mu      sync.Mutex
	viewers map[*viewer]bool
	pending map[Topic]map[string]bool // namespaces, "" for all
	stop    context.CancelFunc        // ends the listening; nil: none
	ended   sync.WaitGroup
}

type viewer struct {
	who     *access.Principal
	changed chan map[Topic]bool // holds one report; later ones are merged into it
}

// New returns a Hub without viewers, for at most max of them.
func New(stream Stream, log *slog.Logger, max int) *Hub {
	return &Hub{stream: stream, log: log, max: max, viewers: map[*viewer]bool{}, pending: map[Topic]map[string]bool{}}
}

// Watch returns a channel of reports for a viewer (nil: one who sees everything); call leave to end it. CodeExhausted:
// too many pages are open.
func (h *Hub) Watch(who *access.Principal) (changed <-chan map[Topic]bool, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) >= h.max {
		return nil, nil, &tasker.Error{Code: tasker.CodeExhausted, Message: "too many pages of the dashboard are open",
			Hint: "close some, or raise server.max_streams", RetryAfter: again}
	}
	v := &viewer{who: who, changed: make(chan map[Topic]bool, 1)}
	h.viewers[v] = true
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		h.ended.Go(func() { h.listen(ctx) })
		h.ended.Go(func() { h.report(ctx) })
	}
	return v.changed, func() { h.leave(v) }, nil
}

func (h *Hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
	if len(h.viewers) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
		clear(h.pending)
	}
}

// Wait returns when the hub has stopped listening. Every viewer must have left.
func (h *Hub) Wait() { h.ended.Wait() }

// listen notes the topics of events until ctx ends. After a lost stream everything counts as changed.
func (h *Hub) listen(ctx context.Context) {
	for ctx.Err() == nil {
		for events, err := range h.stream(ctx, tasker.EventFilter{}) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					h.log.WarnContext(ctx, "the dashboard lost the stream of events", slog.Any("error", err))
				}
				break
			}
			h.note(events)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
			h.note([]tasker.Event{{Type: tasker.EventStreamGap}})
		}
	}
}

func (h *Hub) note(events []tasker.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range events {
		for _, topic := range topicsOf(&events[i]) {
			h.mark(topic, events[i].Namespace)
		}
	}
}

// The caller of mark holds the lock.
func (h *Hub) mark(topic Topic, namespace string) {
	if h.pending[topic] == nil {
		h.pending[topic] = map[string]bool{}
	}
	h.pending[topic][namespace] = true
}

func (h *Hub) report(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for n := time.Duration(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			h.tell(n%(clock/tick) == 0)
		}
	}
}

// tell reports to the viewers of the namespaces.
func (h *Hub) tell(withClock bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if withClock {
		h.mark(Clock, "")
	}
	if len(h.pending) == 0 {
		return
	}
	for v := range h.viewers {
		report := map[Topic]bool{}
		for topic, namespaces := range h.pending {
			if v.reaches(namespaces) {
				report[topic] = true
			}
		}
		v.add(report)
	}
	clear(h.pending)
}

func (v *viewer) reaches(namespaces map[string]bool) bool {
	if !v.who.Limited() || namespaces[""] {
		return true
	}
	for _, namespace := range v.who.Namespaces() {
		if namespaces[namespace] {
			return true
		}
	}
	return false
}

// add merges a report into the pending one. Only the hub sends, under its lock.
func (v *viewer) add(report map[Topic]bool) {
	if len(report) == 0 {
		return
	}
	select {
	case earlier := <-v.changed:
		for topic := range earlier {
			report[topic] = true
		}
	default:
	}
	v.changed <- report
}
