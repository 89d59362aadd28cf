package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
)

// coordinator is this process's part in the agreement on where steps are handed out. Each process announces, in a
// note in the database, its view and until when it counts as present. A numbered term says where: from the store or
// from one content of the dispatcher. A process enters a term only when every other present process has left the
// earlier ones. See term and membership.
type coordinator struct {
	e    *Kernel
	key  string // of this process's note
	gate *gate

	served atomic.Int64 // when a worker was last served here
	mixed  atomic.Bool  // a dispatcher hands out, may, or did
	back   atomic.Bool  // the database went back in time: contents belong to its future

	turn      chan struct{} // one round at a time; it guards the fields below
	announced member        // the last one stored
	own       member        // the one to announce
	begun     task.Instant  // of the last round
}

const (
	roundPause = 25 * time.Millisecond
	// servesFor is how long a process without a dispatcher takes part after it served a worker.
	servesFor = 2 * time.Minute
)

var (
	// Why the dispatcher is not used, for operators.
	errOthersNative = errors.New("a node without this Redis hands out steps of the same database: " +
		"configure dispatch alike on all nodes")
	errOthersOutOfReach = errors.New("another node cannot use what this one sees in Redis, or has not filled it yet")
)

var errNoTerm = &task.Error{Code: task.Unavailable, Message: "the nodes have not agreed yet on who hands out steps",
	Hint: "poll again; one of them may have died a moment ago"}

// newCoordinator returns nil where no other process shares the database. Methods on the hot path accept nil.
func newCoordinator(e *Kernel) *coordinator {
	if e.Cluster == nil {
		return nil
	}
	return &coordinator{e: e, key: memberPrefix + e.feed.Run(), gate: newGate(), turn: make(chan struct{}, 1),
		own: member{Native: e.dispatch == nil}}
}

// hold is how long a process counts as present after an announcement.
func (c *coordinator) hold() time.Duration { return max(8*time.Second, 5*c.e.Cfg.UpkeepInterval) }

// guard is how long before the end of hold a process stops handing out.
func (c *coordinator) guard() time.Duration { return c.hold() / 10 }

func (c *coordinator) noteServed() {
	if c != nil && c.own.Native {
		c.served.Store(int64(c.e.Now()))
	}
}

func (c *coordinator) observe(ctx context.Context) error {
	_, err := c.read(ctx)
	return err
}

func (c *coordinator) read(ctx context.Context) (membership, error) {
	a, err := readMembership(ctx, c.e.NoteStore, c.key, c.e.Now())
	if err != nil {
		return a, err
	}
	mixed := a.term.Ever || !c.own.Native
	for _, m := range a.members {
		mixed = mixed || !m.Native
	}
	if mixed {
		c.mixed.Store(true)
	}
	return a, nil
}

// coordinate runs rounds until nothing is left, or others must act first.
func (c *coordinator) coordinate(ctx context.Context) error {
	began := c.e.Now()
	if c.own.Native && task.Instant(c.served.Load()).Add(servesFor) < began {
		return c.observe(ctx)
	}
	for {
		wants, err := c.round(ctx)
		if err != nil {
			return err
		}
		again := wants == wantsAgain
		if wants == wantsFilling {
			if again, err = c.fill(ctx); err != nil {
				return err
			}
		}
		if !again || c.e.Now().Sub(began) > c.e.Cfg.UpkeepInterval {
			return nil
		}
		if err := clock.Sleep(ctx, roundPause); err != nil {
			return err
		}
	}
}

// ensure takes part in the agreement. With wait it returns once steps may be handed out here, or after the time for
// which an ended process may block that.
func (c *coordinator) ensure(ctx context.Context, wait bool) error {
	c.noteServed()
	if c.gate.isOpen(c.e.Now()) {
		return nil
	}
	if !wait { // waiting pollers are woken when it opens
		return c.roundUnlessOpen(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, c.hold()+2*time.Second)
	defer cancel()
	for {
		open := c.gate.opening()
		if err := c.roundUnlessOpen(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if c.gate.isOpen(c.e.Now()) {
			return nil
		}
		pause := time.NewTimer(roundPause)
		select {
		case <-open:
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errNoTerm
		}
		pause.Stop()
	}
}

type wants int

const (
	wantsNothing wants = iota
	wantsAgain         // soon: others have work to do
	wantsFilling       // the dispatcher must be filled
)

func (c *coordinator) round(ctx context.Context) (wants, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return wantsNothing, ctx.Err()
	}
	defer func() { <-c.turn }()
	return c.exclusiveRound(ctx)
}

func (c *coordinator) roundUnlessOpen(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if now := c.e.Now(); c.gate.isOpen(now) || c.own.Term != 0 && now.Sub(c.begun) < roundPause/2 {
		return nil
	}
	_, err := c.exclusiveRound(ctx)
	return err
}

// exclusiveRound requires turn. Its order is the agreement: check the own content, read the notes, propose a term if
// the present one does not fit, announce, and only then enter.
func (c *coordinator) exclusiveRound(ctx context.Context) (wants, error) {
	now := c.e.Now()
	c.begun = now
	content, reached, err := c.content(ctx)
	if err != nil {
		return wantsNothing, err
	}
	a, err := c.read(ctx)
	if err != nil {
		return wantsNothing, err
	}
	stale := c.back.Load() || !a.valid(content, c.own)
	if stale {
		content = ""
	} else if content, err = c.catchUp(ctx, content, a.term.There); err != nil {
		return wantsNothing, err
	}
	c.own.Sees, c.own.At = content, now
	back := c.back.Load()
	next := a.nextTerm(c.own, c.announced.Until <= now, c.hold())
	if back {
		next = term{No: a.term.No + 1, Tainted: a.term.No + 1, Ever: a.term.Ever}
	}
	if next.No != a.term.No {
		if a, err = c.propose(ctx, a, next); err != nil {
			return wantsNothing, err
		}
		c.back.CompareAndSwap(back, false)
	}
	if err := c.announce(ctx, a, now); err != nil {
		return wantsNothing, err
	}
	return c.enter(ctx, a, now, stale && reached)
}

// propose yields to another process that is first, and returns the membership in force.
func (c *coordinator) propose(ctx context.Context, a membership, next term) (membership, error) {
	text, err := json.Marshal(next)
	if err != nil {
		return a, fmt.Errorf("encode who hands out steps: %w", err)
	}
	err = c.e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		if err := c.e.NoteStore.DropNotes(ctx, tx, a.gone); err != nil {
			return err
		}
		return c.e.NoteStore.FirstNote(ctx, tx, termKey(next.No), string(text))
	})
	if err != nil {
		return a, fmt.Errorf("settle who hands out steps: %w", err)
	}
	return c.read(ctx)
}

// announce leaves earlier terms first.
func (c *coordinator) announce(ctx context.Context, a membership, now task.Instant) error {
	if c.own.Term != a.term.No {
		if err := c.leave(ctx); err != nil {
			return err
		}
		c.own.Term = a.term.No
	}
	if c.own.sameAs(c.announced) && c.announced.Until.Sub(now) > c.hold()*3/4 {
		return nil
	}
	m := c.own
	m.At, m.Until = now, now.Add(c.hold())
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode what this process says: %w", err)
	}
	if err := c.e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		return c.e.NoteStore.Note(ctx, tx, c.key, string(text))
	}); err != nil {
		return fmt.Errorf("say what this process hands out: %w", err)
	}
	if c.announced.Until > c.e.Now() && c.announced.Term == m.Term {
		c.gate.extend(m.Until.Add(-c.guard())) // no process can have counted it as ended meanwhile
	}
	c.announced = m
	return nil
}

// leave stops handing out, waits until leases under way have reached their workers, and stores those that only this
// process and the dispatcher have.
func (c *coordinator) leave(ctx context.Context) error {
	c.gate.shut()
	g := c.e.dispatch
	if g != nil {
		g.suspend()
	}
	if err := c.gate.drained(ctx); err != nil {
		return fmt.Errorf("wait for steps that are being handed out: %w", err)
	}
	if g == nil {
		return nil
	}
	return c.e.dispatch.persistLeases(ctx)
}

// enter waits for the others to leave earlier terms.
func (c *coordinator) enter(ctx context.Context, a membership, now task.Instant, fill bool) (wants, error) {
	if !c.gate.isOpen(now) {
		var err error
		no := a.term.No
		if a, err = c.read(ctx); err != nil { // after the announcement: a process that joins now has read it
			return wantsNothing, err
		}
		if a.term.No != no || !a.left() || a.term.There && a.term.Content != c.own.Sees {
			c.explain(a)
			return wantsAgain, nil
		}
		c.open(a.term)
	}
	c.explain(a)
	g := c.e.dispatch
	switch {
	case a.term.There || g == nil || a.natives():
		return wantsNothing, nil
	case fill:
		return wantsFilling, nil
	case c.own.Sees != "" && len(a.members) > 0:
		return wantsNothing, nil // others do not see it yet
	case c.own.Sees != "":
		return wantsAgain, nil
	}
	return wantsNothing, nil
}

func (c *coordinator) open(t term) {
	g, to := c.e.dispatch, fromStore
	if t.There {
		to = fromDispatch
	}
	if g != nil {
		g.resume(t.There)
	}
	c.gate.open(to, c.announced.Until.Add(-c.guard()))
	c.e.waiters.wakeAll()
}

// leaveForGood is for a process that ends. Leases in the dispatcher stay there.
func (c *coordinator) leaveForGood(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	c.gate.shut()
	if c.e.dispatch != nil {
		c.e.dispatch.suspend()
	}
	if err := c.gate.drained(ctx); err != nil || c.announced.Until == 0 {
		return err
	}
	c.announced, c.own.Term = member{}, 0
	return c.e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		return c.e.NoteStore.DropNotes(ctx, tx, []string{c.key})
	})
}

// epoch identifies the period of handing out steps here; 0: none. Claims under the same epoch used the same place, so
// an empty answer is final. Constant without other processes.
func (c *coordinator) epoch() int64 {
	if c == nil {
		return -1
	}
	return c.gate.openEpoch(c.e.Now())
}

func (c *coordinator) claim(calls []*poller, from func(handOutFrom) ([][]Lease, error)) ([][]Lease, error) {
	if c == nil {
		return from(fromAnywhere)
	}
	p, ok := c.gate.enter(c.e.Now())
	if !ok {
		return make([][]Lease, len(calls)), nil
	}
	defer p.leave()
	out, err := from(p.at)
	if err != nil || p.isValid(c.e.Now()) {
		return out, err
	}
	// The claim took so long that other processes may hand out the same steps.
	for i, leases := range out {
		if len(leases) == 0 {
			continue
		}
		if err := c.e.giveBack(context.Background(), leases); err != nil {
			return nil, err
		}
		out[i] = nil
	}
	return out, nil
}

// databaseReplaced shuts the gate: the dispatcher may have content from the future of a database that went back in
// time.
func (c *coordinator) databaseReplaced() {
	if c != nil {
		c.gate.shut()
		c.back.Store(c.e.dispatch != nil)
	}
}
