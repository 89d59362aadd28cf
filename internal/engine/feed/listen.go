package feed

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// MaxTasks bounds the tasks that one listener names.
	MaxTasks = 100
	// listenBatch bounds the changes of one read.
	listenBatch = 1000
	// maxPending bounds the waiting changes of a listener on particular tasks.
	maxPending = 1000
	// batchInterval is the least time between two batches; changes within it form one batch.
	batchInterval = 10 * time.Millisecond
	// listenHeartbeat is the interval of StreamAlive notices.
	listenHeartbeat = 15 * time.Second
)

// Filter selects changes. Zero fields do not restrict.
type Filter struct {
	// Tasks selects up to MaxTasks tasks, and begins with their present states.
	Tasks []task.ID
	// UntilSettled ends it once all of the Tasks are settled.
	UntilSettled bool

	Kinds         []ChangeKind
	Namespaces    []string
	Name          string
	States        []task.State // new states; restricts only TaskSubmitted and TaskMoved
	Tag           string
	CorrelationID string
	// Queue adds the number of ready steps, when it changes, at most once a second.
	Queue bool
	// After is the position to continue from; "" begins now.
	After string
}

// Source supplies data that a feed does not have; the engine is one.
type Source interface {
	// TaskStatuses returns the statuses of existing tasks, in any order.
	TaskStatuses(ctx context.Context, ids []task.ID) ([]TaskStatus, error)
	// TemplateOf returns the template of a change.
	TemplateOf(ctx context.Context, def int64) (*task.Template, error)
	// CountQueue counts the ready steps of some namespaces, or of all.
	CountQueue(ctx context.Context, namespaces []string) (*QueueCount, error)
	// Subscribe asks other processes to publish their commits.
	Subscribe(ctx context.Context) error
}

// QueueCount is the number of ready steps, by priority level.
type QueueCount struct {
	Ready   int
	ByLevel map[int]int // named levels, and others that occur
	// Capped: there are more.
	Capped bool
}

// Notice is one message to a listener.
type Notice struct {
	Change
	Position string // to continue after it
	Queue    *QueueCount
}

// Listener receives changes. One goroutine uses it.
type Listener struct {
	feed   *Feed
	src    Source
	filter Filter

	first   []Notice    // to return first
	resting *time.Timer // until the next batch
	count   *time.Timer // until the queue is counted; nil: no counts wanted
	last    *QueueCount
	done    bool
	begun   bool

	// guarded by the feed's mutex
	pos     uint64 // the next change to read
	failed  error
	tasks   map[task.ID]*knownState // nil: it receives all changes
	open    int                     // tasks that are not settled, as far as it has heard
	pending []pendingChange
	lost    bool // pending was full
	ready   chan struct{}
	settled chan struct{} // receives when no task is open, and that ends the stream
}

// knownState is the last state of a task that a listener received.
type knownState struct {
	state   task.State
	at      task.Instant
	version int // grows with each change that passes
}

// pendingChange waits for the listener; seq is its number in the feed, 0 for a state that was read.
type pendingChange struct {
	seq uint64
	Change
}

// Listen registers a listener that receives everything committed after its return, and blocks until earlier
// transactions are recorded. The caller must call Close. shared: other processes commit too. NotFound: a task does
// not exist. A listener that is not read blocks nothing, and gets a gap later.
func (f *Feed) Listen(ctx context.Context, src Source, filter Filter, shared bool) (*Listener, error) {
	slices.SortFunc(filter.Tasks, func(a, b task.ID) int { return slices.Compare(a[:], b[:]) })
	filter.Tasks = slices.Compact(filter.Tasks)
	l := &Listener{feed: f, src: src, filter: filter, ready: make(chan struct{}, 1),
		settled: make(chan struct{}, 1)}
	if filter.Queue {
		l.count = time.NewTimer(0)
	}
	f.mu.Lock()
	drained := f.startRecording()
	if len(filter.Tasks) > 0 {
		f.addTaskListener(l)
	} else {
		f.addListener(l, shared)
	}
	f.mu.Unlock()
	if err := l.begin(ctx, drained); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// begin waits for the running transactions, then subscribes to other processes or reads the tasks' states, which
// include effects of earlier, unrecorded transactions.
func (l *Listener) begin(ctx context.Context, drained <-chan struct{}) error {
	if drained != nil {
		select {
		case <-drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if l.tasks == nil {
		return l.src.Subscribe(ctx)
	}
	if err := l.feed.readStates(ctx, l.src, l.filter.Tasks, l); err != nil {
		return err
	}
	for _, id := range l.filter.Tasks {
		if l.tasks[id].version == 0 {
			return task.Errorf(task.NotFound, "there is no task %s", id)
		}
	}
	return nil
}

// The caller holds mu.
func (f *Feed) addListener(l *Listener, shared bool) {
	if shared && !f.hasSubscribers() {
		f.whole = f.next // no earlier changes of other processes have arrived
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
		l.first = []Notice{f.gap("the events after the last one are no longer available")}
	}
}

// The caller holds mu.
func (f *Feed) addTaskListener(l *Listener) {
	f.taskListeners++
	l.open = len(l.filter.Tasks)
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
		l.first = []Notice{f.gap("the events after the last one are no longer available")}
	}
}

// gap means that a listener has missed changes. The caller holds mu.
func (f *Feed) gap(why string) Notice {
	return Notice{Change: Change{Kind: StreamGap, At: f.now(), Cause: why}, Position: f.position(f.next)}
}

// position is just before a change. Clients must not rely on its form.
func (f *Feed) position(before uint64) string { return f.run + "-" + strconv.FormatUint(before-1, 10) }

// seqOf accepts only positions of this run.
func (f *Feed) seqOf(position string) (uint64, bool) {
	run, seq, _ := strings.Cut(position, "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	return n, err == nil && run == f.run && n < 1<<63
}

// Close ends the listening; again it has no effect. Recording continues for a minute for a listener that reconnects.
func (l *Listener) Close() {
	f := l.feed
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

// The caller holds mu.
func (l *Listener) fail(err error) {
	l.failed = err
	l.wake()
}

// wake makes Next look for changes, without blocking.
func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// deliver drops changes to a state that the listener has, or earlier ones. The caller holds mu.
func (l *Listener) deliver(seq uint64, c Change) {
	if k := l.tasks[c.Task]; c.Kind == TaskSubmitted || c.Kind == TaskMoved {
		k.version++
		if c.At < k.at || c.At == k.at && c.To == k.state {
			return
		}
		l.learn(k, c.To, c.At)
	}
	l.put(pendingChange{seq, c})
}

// learn ends the listener's rest when the last open task settles, because no more changes come. The caller holds mu.
func (l *Listener) learn(k *knownState, state task.State, at task.Instant) {
	switch was, is := k.state.Settled(), state.Settled(); {
	case is && !was:
		l.open--
	case was && !is:
		l.open++
	}
	k.state, k.at = state, at
	if l.open > 0 || !l.filter.UntilSettled {
		return
	}
	select {
	case l.settled <- struct{}{}:
	default:
	}
}
