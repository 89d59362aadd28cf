package engine

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

// errPanicked stands for whatever kept a transaction from its end.
var errPanicked = errors.New("the transaction did not end")

// feed is what happened lately, in order, for those who listen. Nothing is
// recorded while nobody does: then a transaction only counts itself.
//
// The order is one in which things can have happened: a transaction takes its
// place in line when it is about to commit, so before any that sees what it did,
// and what it did is told when all before it are over.
type feed struct {
	run string // names this run of the process in positions
	now func() task.Instant

	mu      sync.Mutex
	on      bool
	until   task.Instant  // it stays on until then, though nobody listens here
	blind   int           // transactions under way that are not recorded
	sighted chan struct{} // closed when there are none left; nil: nobody waits for it
	line    []*passage

	ring        []Change // change n is at n modulo its length
	first, next uint64   // first <= n < next are there
	whole       uint64   // from there on it has what other processes told, too

	wide   map[*Listener]struct{}
	about  map[task.ID]map[*Listener]struct{}
	narrow int           // listeners about particular tasks
	more   chan struct{} // closed when the ring grows; nil: nobody waits for it

	told told // by other processes
}

func newFeed(run string, now func() task.Instant) *feed {
	return &feed{run: run, now: now, first: 1, next: 1, wide: map[*Listener]struct{}{}, about: map[task.ID]map[*Listener]struct{}{}}
}

// passage is one transaction on its way past the feed.
type passage struct {
	feed     *feed
	recorded bool
	inLine   bool
	over     bool
	changes  []Change
}

// begin is called before a transaction reads anything, and end must be called
// after it.
func (f *feed) begin() *passage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.on {
		f.blind++
	}
	return &passage{feed: f, recorded: f.on}
}

// restart is called when the transaction is run again.
func (p *passage) restart() {
	if !p.inLine {
		return
	}
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.feed.line = slices.DeleteFunc(p.feed.line, func(other *passage) bool { return other == p })
	p.inLine = false
	p.feed.advance()
}

// enter takes a place in line; the transaction has done all but commit.
func (p *passage) enter(changes []Change) {
	if !p.recorded || len(changes) == 0 {
		return
	}
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.changes, p.inLine = changes, true
	p.feed.line = append(p.feed.line, p)
}

// end is called when the transaction is over; a second call does nothing. One that
// failed as it was about to commit may be committed all the same.
func (p *passage) end(verb string, err error) {
	f := p.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	if !p.recorded {
		if f.blind--; f.blind == 0 && f.sighted != nil {
			close(f.sighted)
			f.sighted = nil
		}
		return
	}
	if err != nil && p.inLine {
		p.changes = []Change{{Kind: StreamGap, At: f.now(), Cause: "it is not known what became of a transaction"}}
		for _, set := range f.about {
			for l := range set {
				l.lost = true
				l.rouse()
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
func (f *feed) advance() {
	n := 0
	for n < len(f.line) && f.line[n].over {
		f.publish(f.line[n].changes)
		n++
	}
	f.line = slices.Delete(f.line, 0, n)
	if f.on && len(f.wide)+f.narrow == 0 && f.now() > f.until {
		f.off()
	}
}

// publish tells of changes. The caller holds mu.
func (f *feed) publish(changes []Change) {
	if !f.on || len(changes) == 0 {
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

func (f *feed) wake() {
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// off ends the recording. Whatever comes next, it does not follow on what was there.
func (f *feed) off() {
	f.on, f.ring = false, nil
	f.next++
	f.first, f.whole = f.next, f.next
	f.told = told{hearing: f.told.hearing}
}

// record begins to record, and returns a channel that is closed when all
// transactions are recorded that are not over yet; nil when they are. The caller holds mu.
func (f *feed) record() <-chan struct{} {
	if !f.on {
		f.on, f.ring = true, make([]Change, feedSize)
	}
	if f.blind > 0 && f.sighted == nil {
		f.sighted = make(chan struct{})
	}
	return f.sighted
}

// stay keeps the feed on for a while. The caller holds mu.
func (f *feed) stay(d time.Duration) { f.until = max(f.until, f.now().Add(d)) }

// fail ends all listening.
func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.wide {
		l.fail(err)
	}
	for _, set := range f.about {
		for l := range set {
			l.fail(err)
		}
	}
	f.wake()
}

// record notes what a transaction does to a task.
func (u *unit) record(kind ChangeKind, t *task.Task, from task.State, cause string) {
	if !u.feeds {
		return
	}
	u.changes = append(u.changes, Change{Kind: kind, At: u.now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, From: from, To: t.State, Cause: cause})
}

// recordCase notes what a transaction does to a case.
func (u *unit) recordCase(kind ChangeKind, t *task.Task, c *task.Case) {
	if !u.feeds {
		return
	}
	u.changes = append(u.changes, Change{Kind: kind, At: u.now, Task: t.ID, DefID: t.DefID, Priority: t.Priority,
		CorrelationID: t.CorrelationID, Tags: t.Meta.Tags, Case: c.ID, Reason: string(c.Reason), Status: string(c.Status)})
}
