// Package capture takes in what died: messages that it reads from brokers, and reports of programs. It finds out
// whether a message is new, a duplicate or the return of a letter; messages of an intake become tasks.
package capture

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const maxReports = 1000

// Options of a Capturer.
type Options struct {
	Carriers  seam.Carriers
	Ruler     *groups.Ruler
	ReadBatch int // bounds the messages of one transaction; 0: the carrier's bound
	// IntakeBatch bounds the messages that become tasks in one transaction, and Intaken receives the result of each.
	IntakeBatch int
	Intaken     func(namespace, source string, of Intaken)
	Gone        func(namespace, source string, messages int64)
}

// Capturer captures messages that died.
type Capturer struct {
	*desk.Desk
	store   Store
	opts    Options
	sources *sources.Registry
	outbox  *outbox.Outbox
}

// New returns a Capturer.
func New(d *desk.Desk, store Store, opts Options, sources *sources.Registry, outbox *outbox.Outbox) *Capturer {
	if opts.Intaken == nil {
		opts.Intaken = func(string, string, Intaken) {}
	}
	return &Capturer{d, store, opts, sources, outbox}
}

// Report captures failures that a program reports under the name of a source, all in one transaction, or none. It adds
// a missing source with the driver "http". A report with a MessageID that equals an earlier one changes nothing, so a
// caller may retry after a lost answer. Exhausted: the source or the namespace is full.
func (in *Capturer) Report(ctx context.Context, namespace, source string, reports []seam.Report) ([]Receipt, error) {
	if err := desk.Reach(ctx, namespace); err != nil {
		return nil, err
	}
	if err := in.checkReports(source, reports); err != nil {
		return nil, err
	}
	arrivals := make([]seam.Arrival, len(reports))
	for i, r := range reports {
		arrivals[i] = seam.Arrival{Report: r, Format: "http"}
	}
	return in.Capture(ctx, &deadletter.Source{Namespace: namespace, Name: source, Driver: deadletter.DriverHTTP},
		arrivals)
}

// Capture stores messages that died, in one transaction: as new letters, or as occurrences of letters that were sent
// back. A message that is stored already changes nothing. Exhausted: the source has too many open letters for a new
// one.
//
// Receipts are in the order of the arrivals. A broker's message may be acknowledged only after Capture returns nil.
// Concurrent captures of one message are safe.
func (in *Capturer) Capture(ctx context.Context, of *deadletter.Source, arrivals []seam.Arrival) ([]Receipt, error) {
	return in.CaptureAlso(ctx, of, arrivals, nil)
}

// CaptureAlso is Capture. also, unless nil, runs at the end of the transaction.
func (in *Capturer) CaptureAlso(ctx context.Context, of *deadletter.Source, arrivals []seam.Arrival,
	also func(context.Context, engine.Tx, []Receipt) error,
) ([]Receipt, error) {
	prepared := in.prepare(of, arrivals)
	t, err := in.termsOf(ctx, of)
	if err != nil {
		return nil, err
	}
	return in.captureWith(ctx, t, prepared, in.NewIDs(len(arrivals)), also)
}

// terms is the state that a capture reads once for a batch.
type terms struct {
	source   *deadletter.Source
	known    bool
	full     error // why no letter may open; nil if it may
	policies sources.Policies
}

// termsOf reads the stored settings of a source: the caller's may be old.
func (in *Capturer) termsOf(ctx context.Context, of *deadletter.Source) (t terms, err error) {
	defer func() { in.ObserveFailure(desk.ObservedCapture, err) }()
	t.source = of
	known, err := in.store.FindSource(ctx, of.Namespace, of.Name)
	if err != nil {
		return t, err
	}
	if t.known = known != nil; t.known {
		t.source = known
	} else if err := in.sources.RoomForSource(ctx, of.Namespace); err != nil {
		return t, err
	}
	err = t.load(ctx, in)
	return t, err
}

func (t *terms) load(ctx context.Context, in *Capturer) (err error) {
	if t.full = in.room(ctx, t.source); t.full != nil && task.CodeOf(t.full) != task.Exhausted {
		return t.full
	}
	t.policies, err = in.sources.PoliciesOf(ctx, t.source.Namespace)
	return err
}

// captureWith captures arrivals. also, unless nil, runs at the end of the transaction: then many messages may be
// letters already. newID returns the ID of a letter by the place of its arrival.
func (in *Capturer) captureWith(ctx context.Context, t terms, arrivals []prepared, newID func(no int) task.ID,
	also func(context.Context, engine.Tx, []Receipt) error,
) (receipts []Receipt, err error) {
	defer func(began time.Time) {
		if in.Observed(desk.ObservedCapture, began, err); err == nil {
			in.observeCaptured(t.source, arrivals, receipts)
		}
	}(time.Now())
	err = desk.OnConflict(captureRuns, func(run int) error {
		return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			// A new capture for each run: a failed transaction has changed the letters in memory.
			c := &capture{in: in, ctx: ctx, tx: tx, terms: t, now: in.Now(), newID: newID,
				look: run > 0 || t.full != nil || also != nil, decisions: sources.NewDecisions()}
			if !t.known {
				if err := in.sources.Introduce(ctx, tx, t.source); err != nil {
					return err
				}
			}
			if receipts, err = c.run(arrivals); err != nil || also == nil {
				return err
			}
			return also(ctx, tx, receipts)
		})
	})
	return receipts, err
}

// captureRuns bounds the tries of a capture while others store its messages. The first run takes unconnected messages
// for new ones unless a unique index refuses them. The second looks for all of them first, so only a third process can
// cause another run.
const captureRuns = 4

// capture is one transaction that captures messages of a source. run collects the changes message by message; save
// stores them with one call per kind of row. See recognise.go for the claims. There is one object for each row, so two
// messages of a letter in one batch see each other's changes.
type capture struct {
	in  *Capturer
	ctx context.Context
	tx  engine.Tx
	terms
	now   task.Instant
	newID func(no int) task.ID
	look  bool // look for each message's identity; else only for those that may be of a letter that was sent back
	claims
	journal *journal // nil where the broker has positions

	added       []*deadletter.Letter
	changed     []*deadletter.Letter
	consumed    []*deadletter.Send
	occurrences []deadletter.Occurrence
	aliases     []deadletter.Alias
	tally       deadletter.Tally
	decisions   *sources.Decisions
}

func (c *capture) run(arrivals []prepared) (receipts []Receipt, err error) {
	if len(arrivals) == 0 || !journaled(arrivals[0].Arrival) {
		return c.takeAll(arrivals)
	}
	receiver, batch := arrivals[0].Receiver, arrivals[0].batch
	if c.journal, err = c.in.openJournal(c.ctx, c.tx, c.source, receiver, c.now); err != nil {
		return nil, err
	}
	if c.journal.stored(receiver, batch) {
		for _, e := range c.journal.now {
			receipts = append(receipts, e.receipt())
		}
		return receipts, nil
	}
	return c.journalAll(arrivals, receiver, batch, nil)
}

func (c *capture) journalAll(arrivals []prepared, receiver, batch string, entries []journalEntry) ([]Receipt, error) {
	receipts, err := c.takeAll(arrivals)
	if err != nil {
		return nil, err
	}
	for i := range arrivals {
		entries = append(entries, journalEntry{deliveryOf(arrivals[i].Arrival), receipts[i].Letter,
			int64(receipts[i].Group)})
	}
	c.journal.Receiver, c.journal.Batch, c.journal.now = receiver, batch, entries
	return receipts, c.in.saveJournal(c.ctx, c.tx, c.source, c.journal)
}

func (c *capture) takeAll(arrivals []prepared) ([]Receipt, error) {
	if err := c.load(arrivals); err != nil {
		return nil, err
	}
	receipts := make([]Receipt, len(arrivals))
	for i := range arrivals {
		var err error
		if receipts[i], err = c.take(&arrivals[i]); err != nil {
			return nil, err
		}
	}
	return receipts, c.save()
}

// take captures one message: a duplicate changes nothing, a return opens its letter, any other is a new letter.
func (c *capture) take(a *prepared) (Receipt, error) {
	if e, ok := c.journal.redelivered(a.Arrival); ok {
		return e.receipt(), nil
	}
	l, send := c.recognise(a)
	if l != nil && send == nil {
		return Receipt{Letter: l.ID, Group: l.Group, Status: model.Duplicate}, nil
	}
	if c.full != nil {
		return Receipt{}, c.full
	}
	print, group, err := c.print(a)
	if err != nil {
		return Receipt{}, err
	}
	if l != nil {
		return c.back(l, send, a, print, group)
	}
	l = c.letter(a, group)
	c.count(group, print, 1)
	c.decide(l)
	c.added = append(c.added, l)
	c.byIdentity[a.identity] = l
	return Receipt{Letter: l.ID, Group: group, Status: model.Captured}, nil
}

func (c *capture) print(a *prepared) (failure.Print, deadletter.GroupID, error) {
	print, err := c.in.opts.Ruler.Print(c.ctx, c.tx, c.source.Namespace, a.print, func() deadletter.Facts {
		return deadletter.FactsOfLetter(&deadletter.Letter{Source: c.source.Name, Origin: a.Origin, Original: a.Content},
			a.Failure, a.Handler, a.Stack, c.source.SensitiveHeaders)
	}, c.now)
	return print, deadletter.GroupOf(c.source.Namespace, print), err
}

func (c *capture) letter(a *prepared, group deadletter.GroupID) *deadletter.Letter {
	l := &deadletter.Letter{
		ID: c.newID(a.no), Namespace: c.source.Namespace, Source: c.source.Name,
		Origin: a.Origin, Format: a.Format, Position: a.Position, MessageID: a.MessageID, EventType: a.eventType,
		Identity: a.identity, Canonical: a.canonical, State: model.LetterOpen, StateAt: c.now, Group: group,
		Failure: a.failure, Handler: a.Handler, Stack: a.stack, Details: boundDetails(a.Details),
		Occurrences: 1, Attempts: a.Attempts, FirstAt: c.diedFirst(a), LastAt: c.died(a), CapturedAt: c.now,
		Original: a.Content, Size: len(a.Content.Payload), Undecoded: a.Undecoded, Version: 1,
	}
	c.related(l, a)
	parks := c.policies.Find(l.Namespace, l.Source, l.Origin).Parks(c.source.MaxReplays)
	l.Parked = parks > 0 && l.Lineage >= parks
	return l
}

func (c *capture) back(l *deadletter.Letter, send *deadletter.Send, a *prepared, print failure.Print,
	group deadletter.GroupID,
) (Receipt, error) {
	o := deadletter.Occurrence{At: c.died(a), Group: group, Failure: a.failure, Handler: a.Handler, Redrive: send.About,
		Stack: a.stack, Details: boundDetails(a.Details), Origin: a.Origin, Position: a.Position, Attempts: a.Attempts}
	origin, was := cmp.Or(a.Origin, l.Origin), l.State
	before := l.Group
	parks := c.policies.Find(l.Namespace, l.Source, origin).Parks(c.source.MaxReplays)
	o = l.Return(o, send.No, parks, c.now)
	if alias, ok := l.Identified(c.source.Name, a.identity); ok {
		c.aliases = append(c.aliases, alias)
	}
	if err := c.returned(send, group); err != nil {
		return Receipt{}, err
	}
	c.count(group, print, 0)
	c.tally.Of(before).OpenLetters -= letters.Opened(was)
	c.tally.Of(group).OpenLetters += letters.Opened(l.State)
	if l.State == model.LetterOpen {
		c.decide(l)
	}
	if !slices.Contains(c.added, l) && !slices.Contains(c.changed, l) {
		c.changed = append(c.changed, l)
	}
	c.occurrences = append(c.occurrences, o)
	c.consume(send)
	c.byIdentity[a.identity] = l
	return Receipt{Letter: l.ID, Group: group, Status: model.Returned}, nil
}

func (c *capture) consume(s *deadletter.Send) {
	if !slices.Contains(c.consumed, s) {
		c.consumed = append(c.consumed, s)
	}
}

// died is the time of a death. An impossible one comes from a wrong clock, and would stay the latest of its group.
func (c *capture) died(a *prepared) task.Instant {
	if a.FailedAt <= 0 || a.FailedAt > c.now.Add(maxAhead) {
		return c.now
	}
	return a.FailedAt
}

func (c *capture) diedFirst(a *prepared) task.Instant {
	if a.FirstAt <= 0 {
		return c.died(a)
	}
	return min(a.FirstAt, c.died(a))
}

func (c *capture) returned(send *deadletter.Send, group deadletter.GroupID) error {
	item, err := c.in.outbox.ItemOf(c.ctx, c.tx, send)
	if err != nil || item.Redrive.IsZero() {
		return err
	}
	item.State, item.At, item.Group = model.ItemReturned, c.now, group
	return c.in.store.SaveItems(c.ctx, c.tx, []deadletter.Item{item})
}

// count counts a failure and open letters in a group, by this node's clock: a consumer's clock must not hide a failure
// from a resolved group.
func (c *capture) count(id deadletter.GroupID, print failure.Print, open int64) {
	c.tally.Join(deadletter.NewGroup(c.source.Namespace, print, c.now))
	d := c.tally.Of(id)
	d.Failures++
	d.OpenLetters += open
	d.At = c.now
}

func (c *capture) decide(l *deadletter.Letter) {
	if c.policies.Decide(l, "", c.now, c.decisions); l.State == model.LetterDiscarded {
		c.tally.Of(l.Group).OpenLetters--
	}
}

func (c *capture) save() error {
	rows := c.in.store
	if len(c.added) > 0 {
		stored, err := rows.AddLetters(c.ctx, c.tx, c.added)
		if err != nil {
			return err
		}
		if slices.Contains(stored, false) {
			return task.Errorf(task.Conflict, "another transaction has just captured one of the messages")
		}
	}
	sends := make([]deadletter.Send, len(c.consumed))
	for i, s := range c.consumed {
		sends[i] = *s
	}
	return errors.Join(rows.AddAliases(c.ctx, c.tx, c.aliases), rows.SaveLetters(c.ctx, c.tx, c.changed),
		rows.SaveSends(c.ctx, c.tx, sends), rows.AddOccurrences(c.ctx, c.tx, c.occurrences),
		c.decisions.Store(c.ctx, c.tx, c.in.Desk), rows.AddTally(c.ctx, c.tx, &c.tally),
		c.in.Tell(c.ctx, c.tx, c.decisions.Events(c.now)...))
}
