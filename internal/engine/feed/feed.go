package feed

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	feedSize = 10_000
	// feedLinger is how long changes are recorded after the last listener, for listeners that return.
	feedLinger = time.Minute
)

// ChangeKind is the kind of a Change.
type ChangeKind string

// The kinds, besides those of deadletter.EventKinds. The last four concern the stream, not tasks.
const (
	TaskSubmitted ChangeKind = "task.submitted"
	TaskMoved     ChangeKind = "task.state"
	CaseBegun     ChangeKind = "case.opened"
	CaseEnded     ChangeKind = "case.resolved"
	QueueCounted  ChangeKind = "queue.stats"
	StreamOpened  ChangeKind = "stream.open"
	StreamGap     ChangeKind = "stream.gap"
	StreamAlive   ChangeKind = "stream.alive"
)

// Change is an effect on a task or on the inbox. Kind StreamGap means missing changes; Cause is the reason.
type Change struct {
	Kind          ChangeKind
	At            task.Instant
	Task          task.ID
	DefID         int64
	Priority      int
	CorrelationID string
	Tags          []string
	From, To      task.State // From is "" where unknown
	Cause         string     // the verb, or a cause that the verb names

	// of a case
	Case           task.ID
	Reason, Status string

	// Inbox is an event of the inbox of this Kind, or nil.
	Inbox *deadletter.Event

	Foreign bool // from another process; only the feed sets it
}

// ErrPanicked is the default error of a deferred InFlight.End: something kept the transaction from ending.
var ErrPanicked = errors.New("the transaction did not end")

// Feed holds the latest changes for listeners. Without them it only counts transactions.
//
// A transaction is queued just before its commit, so before any transaction that sees its effects, and its changes
// are published when all earlier ones are over.
type Feed struct {
	run string // names this run of the process in positions
	now func() task.Instant

	mu         sync.Mutex
	recording  bool
	until      task.Instant  // recording continues until then without listeners here
	unrecorded int           // running transactions that are not recorded
	drained    chan struct{} // closed when there are none left; nil: no waiter
	line       []*InFlight

	ring        []Change // change n is at n modulo its length
	first, next uint64   // changes first <= n < next are kept
	whole       uint64   // from there on it includes the changes of other processes

	listeners     map[*Listener]struct{}
	about         map[task.ID]map[*Listener]struct{}
	taskListeners int           // on particular tasks
	more          chan struct{} // closed when the ring grows; nil: no waiter

	peers peerFeeds
}

// New returns the Feed of a process. run names the process in positions. now, which ends the recording, must not go
// back by much.
func New(run string, now func() task.Instant) *Feed {
	return &Feed{run: run, now: now, first: 1, next: 1, listeners: map[*Listener]struct{}{},
		about: map[task.ID]map[*Listener]struct{}{}}
}

// InboxChange returns the change of an event of the inbox.
func InboxChange(e deadletter.Event) Change {
	return Change{Kind: ChangeKind(e.Kind), At: e.At, Cause: e.Cause, Inbox: &e}
}

// InFlight is one transaction passing the feed. One goroutine uses it; the feed's mutex guards the shared part.
type InFlight struct {
	feed     *Feed
	Recorded bool
	inLine   bool
	ended    bool
	changes  []Change
}

// Begin starts to follow a transaction. It must precede every read of the transaction, and End must follow in any
// case, or the feed stops.
func (f *Feed) Begin() *InFlight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.recording {
		f.unrecorded++
	}
	return &InFlight{feed: f, Recorded: f.recording}
}

// Restart must be called when the transaction runs again. It drops the place in the line and the changes of the
// failed run.
func (p *InFlight) Restart() {
	if !p.inLine {
		return
	}
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.feed.line = slices.DeleteFunc(p.feed.line, func(other *InFlight) bool { return other == p })
	p.inLine = false
	p.feed.advance()
}

// Enter takes a place in the line. Call it when only the commit is left, so that later commits are not queued before
// it. Without changes it takes no place.
func (p *InFlight) Enter(changes []Change) {
	if !p.Recorded || len(changes) == 0 {
		return
	}
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.changes, p.inLine = changes, true
	p.feed.line = append(p.feed.line, p)
}

// End must be called when the transaction has ended; again it has no effect. With an error after Enter the outcome is
// unknown, so listeners get a gap.
func (p *InFlight) End(verb string, err error) {
	f := p.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	if !p.Recorded {
		if f.unrecorded--; f.unrecorded == 0 && f.drained != nil {
			close(f.drained)
			f.drained = nil
		}
		return
	}
	if err != nil && p.inLine {
		p.changes = []Change{{Kind: StreamGap, At: f.now(), Cause: "the outcome of a transaction is unknown"}}
		for _, set := range f.about {
			for l := range set {
				l.lost = true
				l.wake()
			}
		}
	}
	for i := range p.changes {
		if p.changes[i].Cause == "" {
			p.changes[i].Cause = verb
		}
	}
	f.advance()
}

// The caller holds mu.
func (f *Feed) advance() {
	n := 0
	for n < len(f.line) && f.line[n].ended {
		f.publish(f.line[n].changes)
		n++
	}
	f.line = slices.Delete(f.line, 0, n)
	if f.recording && len(f.listeners)+f.taskListeners == 0 && f.now() > f.until {
		f.stopRecording()
	}
}

// The caller holds mu.
func (f *Feed) publish(changes []Change) {
	if !f.recording || len(changes) == 0 {
		return
	}
	for _, c := range changes {
		// This overwrites an old change; a listener that has not read it gets a gap.
		f.ring[f.next%feedSize] = c
		for l := range f.about[c.Task] {
			l.deliver(f.next, c)
		}
		f.next++
	}
	f.first = max(f.first, f.next-min(f.next, feedSize))
	f.wake()
}

// wake wakes all listeners; the next one makes a new channel. The caller holds mu.
func (f *Feed) wake() {
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// stopRecording lets next grow by one, so that an earlier position cannot continue after the pause.
func (f *Feed) stopRecording() {
	f.recording, f.ring = false, nil
	f.next++
	f.first, f.whole = f.next, f.next
	f.peers = peerFeeds{connected: f.peers.connected}
}

// startRecording returns a channel that is closed when all running transactions are recorded, or nil. The caller
// holds mu.
func (f *Feed) startRecording() <-chan struct{} {
	if !f.recording {
		f.recording, f.ring = true, make([]Change, feedSize)
	}
	if f.unrecorded > 0 && f.drained == nil {
		f.drained = make(chan struct{})
	}
	return f.drained
}

// The caller holds mu.
func (f *Feed) keepRecording(d time.Duration) { f.until = max(f.until, f.now().Add(d)) }

// Fail ends all listening with an error, when the engine stops.
func (f *Feed) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.listeners {
		l.fail(err)
	}
	for _, set := range f.about {
		for l := range set {
			l.fail(err)
		}
	}
	f.wake()
}

// Run returns the name of this run of the process.
func (f *Feed) Run() string { return f.run }
