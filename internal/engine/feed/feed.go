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
	// feedSize is the number of changes kept for returning listeners.
	feedSize = 10_000
	// feedLinger is how long changes are recorded after the last listener has left, so that a listener that returns has
	// missed nothing.
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

// Change is the effect of a transaction on a task, or on the inbox, as listeners see it. A change of kind StreamGap
// stands for missing changes; its Cause is the reason.
type Change struct {
	Kind          ChangeKind
	At            task.Instant
	Task          task.ID
	DefID         int64
	Priority      int
	CorrelationID string
	Tags          []string
	From, To      task.State // From is "" where it is not known
	Cause         string     // the verb, or a cause that the verb names

	// of a case
	Case           task.ID
	Reason, Status string

	// Inbox is an event of the inbox, whose kind is Kind; nil for any other change.
	Inbox *deadletter.Event

	Foreign bool // from another process; only the feed sets it
}

// ErrPanicked stands for any reason that kept a transaction from ending.
// A caller passes it to InFlight.End in a deferred call.
var ErrPanicked = errors.New("the transaction did not end")

// Feed holds the latest changes, in order, for listeners. Without listeners it records nothing: then a transaction is
// only counted.
//
// The order is one in which the changes can have happened: a transaction takes its place in line when it is about to
// commit, so before any transaction that sees its effects, and its changes are published when all transactions before
// it are over.
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
	taskListeners int           // listeners on particular tasks
	more          chan struct{} // closed when the ring grows; nil: no waiter

	peers peerFeeds // by other processes
}

// New returns a Feed of a process. run names the process in positions.
// now must not go backwards by much: recording ends by comparison with it.
func New(run string, now func() task.Instant) *Feed {
	return &Feed{run: run, now: now, first: 1, next: 1, listeners: map[*Listener]struct{}{},
		about: map[task.ID]map[*Listener]struct{}{}}
}

// InboxChange returns the change that is an event of the inbox.
func InboxChange(e deadletter.Event) Change {
	return Change{Kind: ChangeKind(e.Kind), At: e.At, Cause: e.Cause, Inbox: &e}
}

// InFlight is one transaction passing the feed.
// It belongs to the goroutine of the transaction. The feed's mutex guards what others read.
type InFlight struct {
	feed     *Feed
	Recorded bool // its changes are wanted
	inLine   bool
	ended    bool
	changes  []Change
}

// Begin starts to follow a transaction. It must precede every read of the transaction, and End
// must follow the transaction in any case, or the feed stops.
// It does not block.
func (f *Feed) Begin() *InFlight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.recording {
		f.unrecorded++
	}
	return &InFlight{feed: f, Recorded: f.recording}
}

// Restart must be called when the transaction runs again. It gives up the place in line.
// The changes of the failed run are dropped with it.
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

// Enter takes a place in line. It must be called when only the commit is left: what commits
// later must not be in line before.
// Without changes the transaction takes no place: nobody waits for it.
func (p *InFlight) Enter(changes []Change) {
	if !p.Recorded || len(changes) == 0 {
		return
	}
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.changes, p.inLine = changes, true
	p.feed.line = append(p.feed.line, p)
}

// End must be called when the transaction has ended; a second call has no effect. With an error
// after Enter, the transaction may have been committed nevertheless, so listeners get a gap and
// not its changes.
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

// advance publishes the changes of the transactions at the head of the line that are over. The caller holds mu.
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

// publish delivers changes to listeners. The caller holds mu.
func (f *Feed) publish(changes []Change) {
	if !f.recording || len(changes) == 0 {
		return
	}
	for _, c := range changes {
		// An old change is overwritten; a listener that has not read it gets a gap.
		f.ring[f.next%feedSize] = c
		for l := range f.about[c.Task] {
			l.deliver(f.next, c)
		}
		f.next++
	}
	f.first = max(f.first, f.next-min(f.next, feedSize))
	f.wake()
}

// wake wakes the listeners to all changes. The caller holds mu.
// A closed channel wakes all of them at once, and the next one asks for a new channel.
func (f *Feed) wake() {
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// stopRecording ends the recording. Later changes do not continue the former ones.
// next grows by one, so that a position from before cannot continue after the pause.
func (f *Feed) stopRecording() {
	f.recording, f.ring = false, nil
	f.next++
	f.first, f.whole = f.next, f.next
	f.peers = peerFeeds{connected: f.peers.connected}
}

// startRecording begins to record, and returns a channel that is closed when all running transactions are recorded; nil
// when they already are. The caller holds mu.
func (f *Feed) startRecording() <-chan struct{} {
	if !f.recording {
		f.recording, f.ring = true, make([]Change, feedSize)
	}
	if f.unrecorded > 0 && f.drained == nil {
		f.drained = make(chan struct{})
	}
	return f.drained
}

// keepRecording extends the recording for a while. The caller holds mu.
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
