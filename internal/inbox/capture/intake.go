package capture

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RefusedByIntake is the failure type of letters that could not become tasks; its code says why.
const RefusedByIntake = "IntakeRefused"

// IntakeBatch is a batch of messages that become tasks, or letters if they cannot. One transaction stores all or none;
// in the latter case the broker keeps them. The batch is prepared once, outside of transactions, and stored until that
// succeeds.
type IntakeBatch struct {
	in       *Capturer
	of       *deadletter.Source
	arrivals []seam.Arrival
	begun    task.Instant
	Orders   []*intake.Task // by arrival; nil where it cannot be a task
	refused  []*intake.Refusal
	delayed  bool // a task waits before it may run
	tried    bool // an earlier commit may have succeeded without an answer
	batch    string
	Also     func(context.Context, engine.Tx, Intaken) error // runs at the end of the transaction; may be nil
}

// Intaken counts the messages of a batch by result.
type Intaken struct {
	Tasks   int
	Known   int // had a task before
	Letters int
}

// TakeIn prepares messages of a source with an intake.
func (in *Capturer) TakeIn(of *deadletter.Source, plan *intake.Plan, arrivals []seam.Arrival) *IntakeBatch {
	b := &IntakeBatch{in: in, of: of, arrivals: arrivals, begun: in.Now(), batch: rand.Text(),
		Orders: make([]*intake.Task, len(arrivals)), refused: make([]*intake.Refusal, len(arrivals))}
	for i := range arrivals {
		var err error
		b.Orders[i], err = plan.Task(messageOf(of, &arrivals[i]))
		if err != nil {
			b.refused[i] = refusalOf(err)
		} else {
			b.bound(b.Orders[i])
		}
	}
	return b
}

func messageOf(of *deadletter.Source, a *seam.Arrival) *intake.Message {
	return &intake.Message{Queue: of.Queue, Position: a.Position, MessageID: a.MessageID, SentAt: a.FailedAt,
		Content: a.Content}
}

func (b *IntakeBatch) bound(t *intake.Task) {
	b.delayed = b.delayed || t.Delay > 0
	level, ok := b.in.Tasks.Level(t.Priority)
	if !ok || t.Priority == "" {
		return
	}
	s := b.of.Intake
	if least, ok := b.in.Tasks.Level(s.MinPriority); ok && s.MinPriority != "" && level < least {
		t.Priority = s.MinPriority
	}
	if most, ok := b.in.Tasks.Level(s.MaxPriority); ok && s.MaxPriority != "" && level > most {
		t.Priority = s.MaxPriority
	}
}

// Store returns nil only after the commit. After an error the messages stay with the broker.
func (b *IntakeBatch) Store(ctx context.Context) (Intaken, error) {
	in := b.in
	// The stored settings count: a source that was changed or removed meanwhile takes nothing in.
	known, err := in.store.FindSource(ctx, b.of.Namespace, b.of.Name)
	if err != nil {
		return Intaken{}, err
	}
	if known == nil || known.Version != b.of.Version {
		return Intaken{}, sources.NoSource(b.of.Name)
	}
	t := terms{source: known, known: true}
	if err := t.load(ctx, in); err != nil {
		return Intaken{}, err
	}
	letters, stored, err := b.lettersAlready(ctx)
	if err != nil || stored {
		return Intaken{Known: len(b.arrivals)}, err
	}
	subs, places := b.submissions(letters)
	b.tried = true
	var done Intaken
	err = desk.OnConflict(captureRuns, func(int) error {
		return b.submit(ctx, subs, func(ctx context.Context, tx engine.Tx, receipts []engine.Receipt) error {
			done = Intaken{Known: len(letters)}
			refused := b.refusals(letters, places, receipts, &done)
			c := &capture{in: in, ctx: ctx, tx: tx, terms: t, now: in.Now(), newID: in.NewIDs(len(refused)), look: true,
				decisions: sources.NewDecisions()}
			if err := b.capture(c, refused, letters); err != nil || b.Also == nil {
				return err
			}
			return b.Also(ctx, tx, done)
		})
	})
	return done, err
}

func (b *IntakeBatch) submit(ctx context.Context, subs []engine.Submission,
	then func(context.Context, engine.Tx, []engine.Receipt) error,
) error {
	if len(subs) == 0 {
		return b.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return then(ctx, tx, nil) })
	}
	return b.in.Tasks.SubmitEachWithin(ctx, subs, func(submit func(context.Context, engine.Tx) ([]engine.Receipt,
		error),
	) error {
		return b.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			receipts, err := submit(ctx, tx)
			if err != nil {
				return err
			}
			return then(ctx, tx, receipts)
		})
	})
}

// capture stores the messages that become letters. Without positions on the broker, the source's journal has them until
// their acknowledgement is known; letters are those of an earlier delivery.
func (b *IntakeBatch) capture(c *capture, refused []seam.Arrival, letters map[int]bool) (err error) {
	first, prepared := &b.arrivals[0], b.in.prepare(c.source, refused)
	if !journaled(first) {
		if len(refused) > 0 {
			_, err = c.run(prepared)
		}
		return err
	}
	if c.journal, err = b.in.openJournal(c.ctx, c.tx, c.source, first.Receiver, c.now); err != nil {
		return err
	}
	var entries []journalEntry
	for i := range letters {
		if e, ok := c.journal.redelivered(&b.arrivals[i]); ok { // their acknowledgement may be lost again
			entries = append(entries, e)
		}
	}
	_, err = c.journalAll(prepared, first.Receiver, b.batch, entries)
	return err
}

// lettersAlready returns the places of messages that an earlier delivery made letters, whose acknowledgement was lost.
// They stay letters even if they could be tasks now. stored: the whole batch is stored.
func (b *IntakeBatch) lettersAlready(ctx context.Context) (letters map[int]bool, stored bool, err error) {
	first, places := &b.arrivals[0], map[string]int{}
	var sought []string
	for i := range b.arrivals {
		if a := &b.arrivals[i]; a.Position != "" && (a.Redelivered || b.tried) {
			identity := b.in.Identify(b.of, a)
			places[identity], sought = i, append(sought, identity)
		}
	}
	if len(sought) == 0 && !journaled(first) {
		return nil, false, nil
	}
	letters = map[int]bool{}
	err = b.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		clear(letters)
		if journaled(first) {
			j, err := b.in.openJournal(ctx, tx, b.of, first.Receiver, b.in.Now())
			if err != nil {
				return err
			}
			stored = j.stored(first.Receiver, b.batch)
			for i := range b.arrivals {
				if _, ok := j.redelivered(&b.arrivals[i]); ok {
					letters[i] = true
				}
			}
			return nil
		}
		found, err := b.in.store.Identified(ctx, tx, b.of.Namespace, b.of.Name, sought)
		for identity := range found {
			letters[places[identity]] = true
		}
		return err
	})
	return letters, stored, err
}

func (b *IntakeBatch) submissions(letters map[int]bool) ([]engine.Submission, []int) {
	subs := make([]engine.Submission, 0, len(b.Orders))
	places := make([]int, 0, len(b.Orders))
	for i, t := range b.Orders {
		if t == nil || letters[i] {
			continue
		}
		s := engine.Submission{Name: t.Template, Version: t.Version, TaskType: t.TaskType, Namespace: b.of.Namespace,
			Context: t.Context, Priority: t.Priority, Timeout: b.of.Intake.Timeout, MaxRetries: b.of.Intake.MaxRetries,
			IdempotencyKey: t.Key, CorrelationID: t.CorrelationID,
			Meta: task.Meta{Tags: b.of.Intake.Tags, Intake: t.Origin, OrderingKey: t.OrderingKey},
			// The tasks already wait in a queue, where back-pressure leaves them.
			Queued: true}
		if t.Delay > 0 {
			s.RunAt = b.begun.Add(t.Delay)
		}
		subs, places = append(subs, s), append(places, i)
	}
	return subs, places
}

func (b *IntakeBatch) refusals(letters map[int]bool, places []int, receipts []engine.Receipt,
	done *Intaken,
) []seam.Arrival {
	refused := slices.Clone(b.refused)
	for i := range letters {
		refused[i] = nil
	}
	for n, r := range receipts {
		switch {
		case r.Err != nil:
			refused[places[n]] = refusalOf(r.Err)
		case r.Created:
			done.Tasks++
		default:
			done.Known++
		}
	}
	var list []seam.Arrival
	for i, r := range refused {
		if r != nil {
			list = append(list, b.letter(i, r))
		}
	}
	done.Letters = len(list)
	return list
}

// letter returns a message that died because it could be no task. Sent back to its queue, it is taken in anew.
func (b *IntakeBatch) letter(i int, r *intake.Refusal) seam.Arrival {
	a := b.arrivals[i]
	a.Origin = b.of.Queue
	a.Failure = failure.Report{Type: RefusedByIntake, Code: r.Code, Message: r.Reason, Class: failure.Logic}
	// Not the time of the send, and the same at each try: it may be part of the identity.
	a.FirstAt, a.FailedAt = a.FailedAt, b.begun
	return a
}

func refusalOf(err error) *intake.Refusal {
	var refusal *intake.Refusal
	var e *task.Error
	switch {
	case errors.As(err, &refusal):
		return refusal
	case !errors.As(err, &e):
		return &intake.Refusal{Code: "refused", Reason: err.Error()}
	case len(e.Problems) == 0:
		return &intake.Refusal{Code: string(e.Code), Reason: e.Message}
	}
	p := e.Problems[0]
	_, field, _ := strings.Cut(strings.TrimPrefix(p.Location, "/tasks/"), "/")
	name, _, deeper := strings.Cut(field, "/")
	if name == "name" {
		name = "template"
	}
	reason := "the " + field + " of the task " + p.Message
	switch {
	case name == "unique" && e.Code == task.Conflict:
		return &intake.Refusal{Code: "duplicate", Reason: "its unique key " + p.Message}
	case name == "context" && !deeper:
		reason = "the context of the task " + p.Message
	case name == "idempotency_key", strings.HasPrefix(p.Message, "there is no"), strings.HasPrefix(p.Message, "\""):
		reason = p.Message
	}
	if name == "idempotency_key" && e.Code == task.Conflict {
		reason = "its idempotency key " + p.Message
	}
	return &intake.Refusal{Code: "bad_" + name, Reason: reason}
}

// Previewed returns what the messages of a batch would become.
func (in *Capturer) Previewed(ctx context.Context, b *IntakeBatch) []sources.IntakePreview {
	subs, places := b.submissions(nil)
	refused := b.refused
	for i, err := range in.Tasks.CheckSubmissions(ctx, subs) {
		if err != nil {
			refused[places[i]] = refusalOf(err)
		}
	}
	list := make([]sources.IntakePreview, len(b.arrivals))
	for i := range b.arrivals {
		if list[i].Refusal = refused[i]; refused[i] == nil {
			list[i].Task = b.Orders[i]
		}
	}
	return list
}

// TestSource asks the broker whether a source's queue exists. Error is why it cannot be read. A source of reports is
// always fine.
func (in *Capturer) TestSource(ctx context.Context, namespace, name string) (*sources.SourceStatus, error) {
	s, err := in.sources.SourceOf(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	st, err := in.sources.Status(ctx, s)
	if err != nil || s.Driver == deadletter.DriverHTTP {
		return st, err
	}
	carrier := in.opts.Carriers[s.Driver]
	if carrier == nil {
		st.State, st.Error = "lost", fmt.Sprintf("this server has no driver %q", s.Driver)
		return st, nil
	}
	switch exists, err := carrier.Exists(ctx, s, s.Queue); {
	case err != nil:
		st.State, st.Error = "lost", err.Error()
	case !exists:
		st.State, st.Error = "lost", fmt.Sprintf("the broker has no queue %q", s.Queue)
	case s.Intake != nil:
		if st.Preview, err = in.previewIntake(ctx, s); err != nil {
			st.State, st.Error = "lost", err.Error()
		}
	}
	return st, nil
}

// previewIntake previews the first messages of a source and stores nothing; nil where the broker cannot show them. The
// error is the broker's.
func (in *Capturer) previewIntake(ctx context.Context, s *deadletter.Source) ([]sources.IntakePreview, error) {
	arrivals, err := in.opts.Carriers[s.Driver].Peek(ctx, s, previewMessages)
	switch {
	case errors.Is(err, seam.ErrNoPeek):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return in.Previewed(ctx, in.TakeIn(s, intake.NewPlan(s), arrivals)), nil
}

const previewMessages = 10
