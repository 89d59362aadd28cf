package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/worker/protocol"
)

type poisonedDB struct {
	*sqlite.Store
	rows *poisonedRows
}

func (d *poisonedDB) Inbox() inbox.Store { return d.rows }

// poisonedRows cannot be stored, by the ID of an event, a split or a letter.
type poisonedRows struct {
	inbox.Store

	mu           sync.Mutex
	marks, other map[task.ID]bool // marks of sends; everything else
}

var errPoison = errors.New("the row cannot be stored")

func (s *poisonedRows) poison(marks bool, ids ...task.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if marks {
			s.marks[id] = true
		} else {
			s.other[id] = true
		}
	}
}

func (s *poisonedRows) check(of map[task.ID]bool, id task.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of[id] {
		return errPoison
	}
	return nil
}

func (s *poisonedRows) EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error {
	for _, id := range ids {
		if err := s.check(s.other, id); err != nil {
			return err
		}
	}
	return s.Store.EventsSubmitted(ctx, tx, ids)
}

func (s *poisonedRows) SaveMove(ctx context.Context, tx engine.Tx, m *groups.Move) error {
	return errors.Join(s.check(s.other, m.ID), s.Store.SaveMove(ctx, tx, m))
}

func (s *poisonedRows) DropMove(ctx context.Context, tx engine.Tx, id task.ID) error {
	return errors.Join(s.check(s.other, id), s.Store.DropMove(ctx, tx, id))
}

func (s *poisonedRows) AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	for _, send := range sends {
		if err := s.check(s.marks, send.Owner); err != nil {
			return err
		}
	}
	return s.Store.AddSends(ctx, tx, sends)
}

func (s *poisonedRows) SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	for _, send := range sends {
		of := s.other
		if send.State == deadletter.SendInFlight {
			of = s.marks
		}
		if err := s.check(of, send.Owner); err != nil {
			return err
		}
	}
	return s.Store.SaveSends(ctx, tx, sends)
}

func (s *poisonedRows) SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	for _, send := range sends {
		if err := s.check(s.other, send.Owner); err != nil {
			return err
		}
	}
	return s.Store.SaveDelivered(ctx, tx, sends)
}

func (s *poisonedRows) DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error {
	for _, id := range owners {
		if err := s.check(s.other, id); err != nil {
			return err
		}
	}
	return s.Store.DropSends(ctx, tx, kind, owners)
}

func poisonedRig(t *testing.T, options ...func(*node.Options)) (*rig, *poisonedRows) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := &poisonedRows{Store: s.Inbox(), marks: map[task.ID]bool{}, other: map[task.ID]bool{}}
	return newRig(t, &poisonedDB{s, rows}, options...), rows
}

func TestPoisonedEvents(t *testing.T) {
	t.Parallel()
	r, rows := poisonedRig(t, hooked(t))
	for n := range 60 {
		r.die(dead(n, fmt.Sprint("Type", string(rune('A'+n/26)), string(rune('a'+n%26)))))
	}
	if _, _, err := r.Triage(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := must(rows.WaitingEvents(t.Context(), 100))
	r.want("events", len(events), 60)
	for _, e := range events[:55] {
		rows.poison(false, e.ID)
	}
	r.pass(0)
	r.want("deliveries", len(r.deliveries()), 5)
	clear(rows.other)
	for range 10 {
		r.pass(time.Minute)
	}
	r.want("deliveries after the cure", len(r.deliveries()), 60)
}

func TestPoisonedSplit(t *testing.T) {
	t.Parallel()
	r, rows := poisonedRig(t)
	var wholes []deadletter.GroupID
	for i, kind := range []string{"Timeout", "Schema"} {
		whole := r.die(tenant(2*i, kind, "acme"), tenant(2*i+1, kind, "globex"))[0].Group
		r.pass(time.Second)
		if _, err := r.SplitGroup(t.Context(), whole, groups.SplitRequest{When: `header("tenant") == "acme"`,
			Title: "Acme " + kind}); err != nil {
			t.Fatal(err)
		}
		wholes = append(wholes, whole)
	}
	moves := must(rows.Moves(t.Context(), 10))
	rows.poison(false, moves[0].ID)
	for range 4 {
		r.pass(2 * time.Second)
	}
	for i, want := range []string{"2 2 ", "1 1 "} {
		r.want("the group", r.counts(wholes[i])[:4], want)
	}
	clear(rows.other)
	for range 3 {
		r.pass(time.Minute)
	}
	r.want("the group after the cure", r.counts(wholes[0])[:4], "1 1 ")
}

// Letters whose sends cannot be marked or recorded do not hold up others.
func TestPoisonedLetters(t *testing.T) {
	t.Parallel()
	for _, marks := range []bool{true, false} {
		t.Run(fmt.Sprint("Marks", marks), func(t *testing.T) {
			t.Parallel()
			r, rows := poisonedRig(t)
			r.policy(deadletter.Policy{Strategy: model.Fixed, Base: 10 * time.Second, MaxRetries: 10})
			var ids []task.ID
			for n := range 9 {
				ids = append(ids, r.die(dead(n, "Timeout"))[0].Letter)
			}
			rows.poison(marks, ids[0], ids[1])
			for range 3 {
				r.pass(10 * time.Second)
			}
			for _, id := range ids[2:] {
				r.stands(id, model.LetterRedriven, "")
			}
			clear(rows.marks)
			clear(rows.other)
			for range 3 {
				r.pass(time.Minute)
			}
			for _, id := range ids[:2] {
				r.want("after the cure", r.letter(id).State, model.LetterRedriven)
			}
		})
	}
}

// failures makes tasks of messages, which fail, and returns what is to be written of them, the first ones first.
func (r *rig) failures(rows inbox.Store, n int) (ids []task.ID) {
	r.t.Helper()
	none := 0
	r.source(deadletter.Source{Namespace: "default", Name: "jobs", Driver: "memory", Queue: "jobs",
		Intake: &deadletter.Intake{TaskType: "ship", MaxRetries: &none, WriteFailures: "failed"}})
	var jobs []inbox.Arrival
	for i := range n {
		jobs = append(jobs, dead(i, ""))
	}
	of := must(rows.FindSource(r.t.Context(), "default", "jobs"))
	made, err := r.TakeIn(of, intake.NewPlan(of), jobs).Store(r.t.Context())
	if err != nil || made.Tasks != n {
		r.t.Fatal(made, err)
	}
	r.want("failed", r.settle(protocol.ResultFailed), n)
	now := task.At(r.clock())
	for _, s := range must(rows.DueSends(r.t.Context(), deadletter.SendFailure, now, 0, n)) {
		ids = append(ids, s.Owner)
	}
	return ids
}

// writes writes failures until nothing more is due at once, and returns how many wait then.
func (r *rig) writes() (waiting int) {
	r.t.Helper()
	for more := true; more; {
		var err error
		if _, more, err = r.WriteFailures(r.t.Context()); err != nil && !due.OnlyRows(err) {
			r.t.Fatal(err)
		}
	}
	waiting, _, err := r.IntakeFailures(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return waiting
}

// TestPoisonedFailures: failures of tasks that cannot be marked, or whose writing cannot be recorded, hold up no other,
// if there are more of them than one turn takes, too.
func TestPoisonedFailures(t *testing.T) {
	t.Parallel()
	for _, marks := range []bool{true, false} {
		for _, bad := range []int{1, 250} {
			t.Run(fmt.Sprint("Marks", marks, bad), func(t *testing.T) {
				t.Parallel()
				r, rows := poisonedRig(t)
				ids := r.failures(rows, bad+3)
				rows.poison(marks, ids[:bad]...)
				r.want("waiting", r.writes(), bad)
				clear(rows.marks)
				clear(rows.other)
				for range 7 { // a fifth of a batch is for those that have failed
					r.later(time.Minute)
					r.writes()
				}
				r.want("waiting after the cure", r.writes(), 0)
			})
		}
	}
}

// TestTenThousandPoisonedFailures: as many rows that can be neither written nor dropped hold up none behind them.
func TestTenThousandPoisonedFailures(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const bad = 10_000
	r, rows := poisonedRig(t)
	now := task.At(r.clock())
	var sends []deadletter.Send
	for i := range bad + 3 { // of tasks that are gone
		id := r.db.IDs().Take(r.clock(), 1)
		sends = append(sends, deadletter.Send{Owner: id, No: 1, Kind: deadletter.SendFailure, State: deadletter.SendPlanned,
			Namespace: "default", Source: "jobs", About: id, At: now, NextAt: now + task.Instant(i)})
		if i < bad {
			rows.poison(false, id)
		}
	}
	if err := r.db.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return rows.AddSends(ctx, tx, sends)
	}); err != nil {
		t.Fatal(err)
	}
	r.later(time.Second)
	r.writes()
	left := must(rows.DueSends(t.Context(), deadletter.SendFailure, task.At(r.clock()), 0, 2*bad))
	r.want("left", len(left), bad)
}
