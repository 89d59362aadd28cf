package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

const (
	// MaxListened bounds the tasks that one listener names.
	MaxListened = 100
	// listenBatch bounds the changes looked at, and so those returned, at once.
	listenBatch = 1000
	// maxPending bounds what waits for a listener about particular tasks.
	maxPending = 1000
	// batchInterval is the least time between two batches: what comes meanwhile comes
	// together.
	batchInterval = 10 * time.Millisecond
	// listenHeartbeat is how often a listener hears that nothing has happened.
	listenHeartbeat = 15 * time.Second
)

// ListenFilter selects what a listener hears. Zero fields do not restrict.
type ListenFilter struct {
	// Tasks makes it a listener about these tasks only, which begins with the state
	// that they are in. At most MaxListened.
	Tasks []task.ID
	// UntilSettled ends it once all of the Tasks are settled.
	UntilSettled bool

	Kinds         []ChangeKind
	Namespaces    []string
	Name          string
	States        []task.State // that a task comes to; other kinds than TaskSubmitted and TaskMoved are not touched
	Tag           string
	CorrelationID string
	// Queue adds what is in the queue, when it changes, once a second at the most.
	Queue bool
	// After is the position behind which to go on; "" begins now.
	After string
}

// Notice is what a listener hears.
type Notice struct {
	Change
	Position string // where to go on behind it
	Queue    *QueueCount
}

// Listener hears what happens. It belongs to one goroutine.
type Listener struct {
	e      *Engine
	filter ListenFilter

	first   []Notice    // to say first
	resting *time.Timer // until the next batch
	count   *time.Timer // until the queue is counted; nil: it is not asked for
	last    *QueueCount
	done    bool
	begun   bool

	// guarded by the feed's mutex
	pos     uint64 // the next change to hear
	failed  error
	tasks   map[task.ID]*knownState // nil: it hears of all
	pending []pendingChange
	lost    bool // pending was full
	ready   chan struct{}
}

// knownState is what a listener was told of a task.
type knownState struct {
	state   task.State
	at      task.Instant
	version int // grows with each change that came by
}

type pendingChange struct {
	seq uint64
	Change
}

// ListenTo begins to listen. What is committed after it has returned is heard. Close
// has to be called. NotFound for a task that there is not.
func (e *Engine) ListenTo(ctx context.Context, l ListenFilter) (*Listener, error) {
	if len(l.Tasks) > MaxListened {
		return nil, &task.Error{Code: task.TooLarge, Message: fmt.Sprintf("%d tasks for one stream; the limit is %d", len(l.Tasks), MaxListened)}
	}
	if l.UntilSettled && len(l.Tasks) == 0 {
		return nil, refusal("the stream would never end", []task.Problem{{Location: "until", Message: "name the tasks"}})
	}
	slices.SortFunc(l.Tasks, func(a, b task.ID) int { return slices.Compare(a[:], b[:]) })
	l.Tasks = slices.Compact(l.Tasks)
	li := &Listener{e: e, filter: l, ready: make(chan struct{}, 1)}
	if l.Queue {
		li.count = time.NewTimer(0)
	}
	f := e.feed
	f.mu.Lock()
	sighted := f.startRecording()
	if len(l.Tasks) > 0 {
		f.addTaskListener(li)
	} else {
		f.addListener(li, e.cluster != nil)
	}
	f.mu.Unlock()
	if err := li.begin(ctx, sighted); err != nil {
		li.Close()
		return nil, err
	}
	return li, nil
}

func (l *Listener) begin(ctx context.Context, sighted <-chan struct{}) error {
	if sighted != nil {
		select {
		case <-sighted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if l.tasks == nil {
		return l.e.subscribeFeed(ctx)
	}
	if err := l.e.readStates(ctx, l.filter.Tasks, l); err != nil {
		return err
	}
	for _, id := range l.filter.Tasks {
		if l.tasks[id].version == 0 {
			return noTask(id)
		}
	}
	return nil
}

// addListener adds a listener to all. The caller holds mu.
func (f *feed) addListener(l *Listener, shared bool) {
	if shared && !f.hasSubscribers() {
		f.whole = f.next // nobody has told of other processes' changes before
	}
	f.listeners[l] = struct{}{}
	l.pos = f.next
	after, ok := f.seqOf(l.filter.After)
	switch {
	case l.filter.After == "":
		l.first = []Notice{{Change: Change{Kind: StreamOpened, At: f.now()}, Position: f.position(f.next)}}
	case ok && after+1 >= max(f.first, f.whole) && after < f.next:
		l.pos = after + 1
	default:
		l.first = []Notice{f.gap("what came after the last event is not kept here")}
	}
}

// addTaskListener adds a listener about its tasks. The caller holds mu.
func (f *feed) addTaskListener(l *Listener) {
	f.taskListeners++
	l.tasks = make(map[task.ID]*knownState, len(l.filter.Tasks))
	for _, id := range l.filter.Tasks {
		l.tasks[id] = &knownState{}
		if f.about[id] == nil {
			f.about[id] = map[*Listener]struct{}{}
		}
		f.about[id][l] = struct{}{}
	}
	l.pos = f.next
	after, ok := f.seqOf(l.filter.After)
	switch {
	case l.filter.After == "":
		l.first = []Notice{{Change: Change{Kind: StreamOpened, At: f.now()}, Position: f.position(f.next)}}
	case ok && after+1 >= f.first && after < f.next:
		l.pos = after + 1
		for seq := l.pos; seq < f.next; seq++ {
			if c := f.ring[seq%feedSize]; l.tasks[c.Task] != nil {
				l.deliver(seq, c)
			}
		}
	default:
		l.first = []Notice{f.gap("what came after the last event is not kept here")}
	}
}

// gap is told where a listener has missed something. The caller holds mu.
func (f *feed) gap(why string) Notice {
	return Notice{Change: Change{Kind: StreamGap, At: f.now(), Cause: why}, Position: f.position(f.next)}
}

// position is where to go on before a change.
func (f *feed) position(before uint64) string { return f.run + "-" + strconv.FormatUint(before-1, 10) }

// seqOf returns the change that a position is behind, if it is one of this run.
func (f *feed) seqOf(position string) (uint64, bool) {
	run, seq, _ := strings.Cut(position, "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	return n, err == nil && run == f.run && n < 1<<63
}

// Close ends the listening. A second call does nothing.
func (l *Listener) Close() {
	f := l.e.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, listens := f.listeners[l]; listens {
		delete(f.listeners, l)
		f.peers.until = f.now().Add(feedLinger)
	}
	if l.tasks != nil {
		f.taskListeners--
	}
	for id := range l.tasks {
		delete(f.about[id], l)
		if len(f.about[id]) == 0 {
			delete(f.about, id)
		}
	}
	l.tasks = nil
	f.keepRecording(feedLinger)
}

func (l *Listener) fail(err error) {
	l.failed = err
	l.wake()
}

func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// deliver hands over a change of one of its tasks. One that its present state was
// seen to be the result of, or that came before that, is no news. The caller holds mu.
func (l *Listener) deliver(seq uint64, c Change) {
	if k := l.tasks[c.Task]; c.Kind == TaskSubmitted || c.Kind == TaskMoved {
		k.version++
		if c.At < k.at || c.At == k.at && c.To == k.state {
			return
		}
		k.state, k.at = c.To, c.At
	}
	l.put(pendingChange{seq, c})
}
