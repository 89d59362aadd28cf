package feed

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

const (
	// feedSize is how many changes are kept for those who come back.
	feedSize = 10_000
	// feedLinger is how long changes are recorded when nobody listens any more, so
	// that who comes back has missed nothing.
	feedLinger = time.Minute
)

// ChangeKind says what a Change tells of.
type ChangeKind string

// The kinds. The last four are about the stream and not about tasks.
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

// Change is what a transaction did to a task, as far as listeners are told. One of
// kind StreamGap stands where some are missing; its Cause says why.
type Change struct {
	Kind          ChangeKind
	At            task.Instant
	Task          task.ID
	DefID         int64
	Priority      int
	CorrelationID string
	Tags          []string
	From, To      task.State // From is "" where it is not known
	Cause         string     // what did it: the verb, or what a verb says itself

	// of a case
	Case           task.ID
	Reason, Status string

	Foreign bool // another process told it; only the feed sets it
}

// ErrPanicked stands for whatever kept a transaction from its end.
var ErrPanicked = errors.New("the transaction did not end")

// Feed is what happened lately, in order, for those who listen. Nothing is
// recorded while nobody does: then a transaction only counts itself.
//
// The order is one in which things can have happened: a transaction takes its
// place in line when it is about to commit, so before any that sees what it did,
// and what it did is told when all before it are over.
type Feed struct {
	run string // names this run of the process in positions
	now func() task.Instant

	mu         sync.Mutex
	recording  bool
	until      task.Instant  // it stays on until then, though nobody listens here
	unrecorded int           // transactions under way that are not recorded
	drained    chan struct{} // closed when there are none left; nil: nobody waits for it
	line       []*InFlight

	ring        []Change // change n is at n modulo its length
	first, next uint64   // first <= n < next are there
	whole       uint64   // from there on it has what other processes told, too

	listeners     map[*Listener]struct{}
	about         map[task.ID]map[*Listener]struct{}
	taskListeners int           // listeners about particular tasks
	more          chan struct{} // closed when the ring grows; nil: nobody waits for it

	peers peerFeeds // by other processes
}

// New returns a Feed of a process. run names the process in positions.
func New(run string, now func() task.Instant) *Feed {
	return &Feed{run: run, now: now, first: 1, next: 1, listeners: map[*Listener]struct{}{},
		about: map[task.ID]map[*Listener]struct{}{}}
}

// InFlight is one transaction on its way past the feed.
type InFlight struct {
	feed     *Feed
	Recorded bool // its changes are wanted
	inLine   bool
	ended    bool
	changes  []Change
}

// Begin is called before a transaction reads anything, and End must be called
// after it.
func (f *Feed) Begin() *InFlight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.recording {
		f.unrecorded++
	}
	return &InFlight{feed: f, Recorded: f.recording}
}

// Restart is called when the transaction is run again.
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

// Enter takes a place in line; the transaction has done all but commit.
func (p *InFlight) Enter(changes []Change) {
	if !p.Recorded || len(changes) == 0 {
		return
	}
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.changes, p.inLine = changes, true
	p.feed.line = append(p.feed.line, p)
}

// End is called when the transaction is over; a second call does nothing. One that
// failed as it was about to commit may be committed all the same.
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
		p.changes = []Change{{Kind: StreamGap, At: f.now(), Cause: "it is not known what became of a transaction"}}
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

// advance tells what the first in line did that are over. The caller holds mu.
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

// publish tells of changes. The caller holds mu.
func (f *Feed) publish(changes []Change) {
	if !f.recording || len(changes) == 0 {
		return
	}
	for _, c := range changes {
		f.ring[f.next%feedSize] = c
		for l := range f.about[c.Task] {
			l.deliver(f.next, c)
		}
		f.next++
	}
	f.first = max(f.first, f.next-min(f.next, feedSize))
	f.wake()
}

func (f *Feed) wake() {
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// stopRecording ends the recording. Whatever comes next, it does not follow on what was there.
func (f *Feed) stopRecording() {
	f.recording, f.ring = false, nil
	f.next++
	f.first, f.whole = f.next, f.next
	f.peers = peerFeeds{connected: f.peers.connected}
}

// startRecording begins to record, and returns a channel that is closed when all
// transactions are recorded that are not over yet; nil when they are. The caller holds mu.
func (f *Feed) startRecording() <-chan struct{} {
	if !f.recording {
		f.recording, f.ring = true, make([]Change, feedSize)
	}
	if f.unrecorded > 0 && f.drained == nil {
		f.drained = make(chan struct{})
	}
	return f.drained
}

// keepRecording keeps the feed on for a while. The caller holds mu.
func (f *Feed) keepRecording(d time.Duration) { f.until = max(f.until, f.now().Add(d)) }

// Fail ends all listening.
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

// Run names this run of the process.
func (f *Feed) Run() string { return f.run }
