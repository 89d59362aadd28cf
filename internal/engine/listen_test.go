package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type studio struct {
	*engine.Engine
	t     *testing.T
	store *heldStore
	w     task.ID
}

// heldStore delays commits, or reports them as failed.
type heldStore struct {
	engine.Database
	hold  chan struct{} // not nil: writes wait here first
	doubt error         // not nil: the error of writes that succeeded
	asked *int          // not nil: counts the lists of routes and workers
}

func (s *heldStore) Routes(ctx context.Context) ([]*task.Route, error) {
	if s.asked != nil {
		*s.asked++
	}
	return s.Database.Routes(ctx)
}

func (s *heldStore) Workers(ctx context.Context, seen task.Instant) ([]*task.Worker, error) {
	if s.asked != nil {
		*s.asked++
	}
	return s.Database.Workers(ctx, seen)
}

func (s *heldStore) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	hold := s.hold
	err := s.Database.Write(ctx, fn)
	if hold != nil {
		<-hold
	}
	if err == nil {
		err = s.doubt
	}
	return err
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	s := &studio{t: t, store: &heldStore{Database: memstore.New(&memstore.Options{Seed: 1})}}
	var err error
	if s.Engine, err = engine.New(t.Context(), s.store, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := s.Register(t.Context(), task.Worker{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	s.w = r.ID
	return s
}

func (s *studio) submit(subs ...engine.Submission) []task.ID {
	s.t.Helper()
	receipts, err := s.Submit(s.t.Context(), subs, false)
	if err != nil {
		s.t.Fatal(err)
	}
	ids := make([]task.ID, len(receipts))
	for i, r := range receipts {
		ids[i] = r.ID
	}
	return ids
}

func (s *studio) run(status engine.ResultStatus) {
	s.t.Helper()
	if err := s.tryRun(status); err != nil {
		s.t.Fatal(err)
	}
}

func (s *studio) tryRun(status engine.ResultStatus) error {
	leases, _, err := s.Poll(s.t.Context(), s.w, 1, 0, true)
	if err != nil || len(leases) != 1 {
		return fmt.Errorf("the poll came back with %d steps, %w", len(leases), err)
	}
	r := engine.Result{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Status: status}
	if status == engine.ResultFailed {
		r.Failure = &task.Failure{Message: "no"}
	}
	_, err = s.Settle(s.t.Context(), []engine.Result{r})
	return err
}

func (s *studio) aside(do func() error) {
	go func() {
		if err := do(); err != nil {
			s.t.Error(err)
		}
	}()
	synctest.Wait()
}

func (s *studio) trySubmit() error {
	_, err := s.Submit(s.t.Context(), []engine.Submission{sub}, false)
	return err
}

func (s *studio) listen(l feed.Filter) *feed.Listener {
	s.t.Helper()
	listener, err := s.ListenTo(s.t.Context(), l)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(listener.Close)
	return listener
}

func hears(t *testing.T, what string, l *feed.Listener, want string) string {
	t.Helper()
	var words []string
	var last string
	for {
		batch, err := l.Next(t.Context())
		if err != nil {
			words = append(words, err.Error())
			break
		}
		if last = batch[len(batch)-1].Position; batch[0].Kind == feed.StreamAlive {
			break
		}
		for _, n := range batch {
			switch n.Kind {
			case feed.TaskMoved:
				words = append(words, string(n.From)+">"+string(n.To))
			case feed.TaskSubmitted:
				words = append(words, "+"+string(n.To))
			case feed.QueueCounted:
				words = append(words, fmt.Sprint(n.Queue.Ready, n.Queue.ByLevel))
			case feed.CaseBegun, feed.CaseEnded:
				words = append(words, string(n.Kind)+":"+n.Reason+n.Status)
			default:
				words = append(words, string(n.Kind))
			}
		}
	}
	if got := strings.Join(words, " "); got != want {
		t.Errorf("%s: heard %q, want %q", what, got, want)
	}
	return last
}

func inStudio(t *testing.T, test func(t *testing.T, s *studio)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newStudio(t)) })
}

var sub = engine.Submission{TaskType: "job"}

func TestListen(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		s.submit(sub)
		all := s.listen(feed.Filter{})
		s.run(engine.ResultCompleted)
		s.submit(engine.Submission{TaskType: "job", Priority: "high", Namespace: "n", CorrelationID: "c",
			Meta: task.Meta{Tags: []string{"t"}}})
		s.run(engine.ResultFailed)
		hears(t, "all", all, "stream.open steps_in_process>complete +steps_in_process steps_in_process>error "+
			"case.opened:max_retries_exceededpending")
	})
}

func TestListenFilters(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		const both = "stream.open +steps_in_process steps_in_process>complete"
		for name, l := range map[string]feed.Filter{
			"Namespace":     {Namespaces: []string{"other", "n"}},
			"Name":          {Name: "mine"},
			"Tag":           {Tag: "t"},
			"CorrelationID": {CorrelationID: "c"},
		} {
			l := s.listen(l)
			s.submit(sub)
			s.run(engine.ResultCompleted)
			s.submit(engine.Submission{TaskType: "mine", Namespace: "n", CorrelationID: "c",
				Meta: task.Meta{Tags: []string{"s", "t"}}})
			s.run(engine.ResultCompleted)
			hears(t, name, l, both)
			l.Close()
		}
		l, k := s.listen(feed.Filter{States: []task.State{task.Complete}}),
			s.listen(feed.Filter{Kinds: []feed.ChangeKind{feed.TaskSubmitted}})
		s.submit(sub)
		s.run(engine.ResultCompleted)
		hears(t, "States", l, "stream.open steps_in_process>complete")
		hears(t, "Kinds", k, "stream.open +steps_in_process")
	})
}

// A stream about tasks begins with their state, and ends when they are settled.
func TestListenToTasks(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		ids := s.submit(sub, sub, sub)
		s.run(engine.ResultCompleted)
		l := s.listen(feed.Filter{Tasks: ids[:2], UntilSettled: true})
		hears(t, "at first", l, "stream.open >complete >steps_in_process")
		s.run(engine.ResultCompleted)
		s.run(engine.ResultCompleted)
		hears(t, "until settled", l, "steps_in_process>complete EOF")
		hears(t, "settled already", s.listen(feed.Filter{Tasks: ids[:2], UntilSettled: true}),
			"stream.open >complete >complete EOF")

		var why *task.Error
		if _, err := s.ListenTo(t.Context(), feed.Filter{Tasks: []task.ID{ids[0], {1}}}); !errors.As(err, &why) ||
			why.Code != task.NotFound {
			t.Errorf("an unknown task is answered %v", err)
		}
		if _, err := s.ListenTo(t.Context(), feed.Filter{Tasks: make([]task.ID, feed.MaxTasks+1)}); !errors.As(err, &why) ||
			why.Code != task.TooLarge {
			t.Errorf("too many tasks are answered %v", err)
		}
		if _, err := s.ListenTo(t.Context(), feed.Filter{UntilSettled: true}); !errors.As(err, &why) ||
			why.Code != task.Invalid {
			t.Errorf("a stream without end is answered %v", err)
		}
	})
}

// The greeting, the state that ends a stream about tasks, and the end come without a pause.
func TestListenUntilSettledAtOnce(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		ids := s.submit(sub, sub)
		begun := time.Now()
		l := s.listen(feed.Filter{Tasks: ids, UntilSettled: true})
		for i, want := range []int{3, 1, 1, 0} { // the greeting with two states, each result, the end
			if i == 1 || i == 2 {
				s.run(engine.ResultCompleted)
			}
			batch, err := l.Next(t.Context())
			if len(batch) != want || (want == 0) != errors.Is(err, io.EOF) {
				t.Errorf("call %d heard %+v, %v", i, batch, err)
			}
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it rested for %v", took)
		}
	})
}

// Transactions in flight when a listener begins are heard or seen.
func TestListenMissesNothingUnderWay(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		s.submit(sub) // stores its route
		hold := make(chan struct{})
		s.store.hold = hold
		s.aside(s.trySubmit)
		s.store.hold = nil
		listening := make(chan *feed.Listener, 1)
		go func() {
			l, err := s.ListenTo(t.Context(), feed.Filter{})
			if err != nil {
				t.Error(err)
			}
			listening <- l
		}()
		synctest.Wait()
		if len(listening) > 0 {
			t.Error("it listens before a transaction is over that nobody records")
		}
		close(hold)
		l := <-listening
		defer l.Close()
		hears(t, "then", l, "stream.open")
	})
}

// The changes of a task come in order, even if one transaction learns late of its commit.
func TestListenInOrder(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		s.submit(sub)
		s.run(engine.ResultCompleted)
		l := s.listen(feed.Filter{})
		hold := make(chan struct{})
		s.store.hold = hold
		s.aside(s.trySubmit) // committed, without the answer yet
		s.store.hold = nil
		one := make(chan string)
		s.aside(func() error { return s.tryRun(engine.ResultCompleted) })
		go func() { one <- hears(t, "in order", l, "stream.open +steps_in_process steps_in_process>complete") }()
		close(hold)
		<-one
	})
}

func TestListenResumes(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		ids := s.submit(sub)
		l, one := s.listen(feed.Filter{}), s.listen(feed.Filter{Tasks: ids})
		at := hears(t, "at first", l, "stream.open")
		atOne := hears(t, "about a task, at first", one, "stream.open >steps_in_process")
		l.Close()
		one.Close()
		s.run(engine.ResultFailed)
		s.submit(sub)
		const missed = "steps_in_process>error case.opened:max_retries_exceededpending"
		time.Sleep(50 * time.Second)
		at2 := hears(t, "resumed", s.listen(feed.Filter{After: at}), missed+" +steps_in_process")
		hears(t, "at the end", s.listen(feed.Filter{After: at2}), "")
		hears(t, "about a task, resumed", s.listen(feed.Filter{Tasks: ids, After: atOne}), missed)
		hears(t, "about a task, at the end", s.listen(feed.Filter{Tasks: ids, After: at2}), ">error")
		for _, position := range []string{"x", "-", at + "9999", "zz-1", at[:len(at)-1] + "18446744073709551615",
			strings.Repeat("9", 4000), at + "\n", "-1-2"} {
			hears(t, "resumed at "+position, s.listen(feed.Filter{After: position}), "stream.gap")
			hears(t, "about a task, resumed at "+position, s.listen(feed.Filter{Tasks: ids, After: position}),
				"stream.gap >error")
		}
	})
}

// After the last listener, recording ends within a minute; a listener that returns later gets a gap.
func TestListenComesBackTooLate(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		l := s.listen(feed.Filter{})
		at := hears(t, "at first", l, "stream.open")
		l.Close()
		time.Sleep(2 * time.Minute)
		s.submit(sub)
		hears(t, "after two minutes", s.listen(feed.Filter{After: at}), "stream.gap")
	})
}

// A slow listener gets a gap; memory does not grow.
func TestListenOverrun(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		l := s.listen(feed.Filter{})
		subs := make([]engine.Submission, 1000)
		for i := range subs {
			subs[i] = sub
		}
		s.submit(subs...)
		if batch, err := l.Next(t.Context()); err != nil || len(batch) < 1000 {
			t.Fatalf("%d notices, %v", len(batch), err)
		}
		for range 11 {
			s.submit(subs...)
		}
		hears(t, "overrun", l, "stream.gap")
		s.submit(sub)
		hears(t, "then", l, "+steps_in_process")
	})
}

func TestListenToTasksOverrun(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		ids := s.submit(sub)
		l := s.listen(feed.Filter{Tasks: ids})
		hears(t, "at first", l, "stream.open >steps_in_process")
		for range 600 { // opens and closes a case
			c, err := s.OpenCase(t.Context(), ids[0], engine.CaseRequest{Actor: "a", Reason: "r"})
			if err == nil {
				_, err = s.UpdateCase(t.Context(), c.ID, task.CaseChange{Actor: "a", Status: task.CaseCancelled})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		hears(t, "overrun", l, "stream.gap >steps_in_process")
		s.run(engine.ResultCompleted)
		hears(t, "then", l, "steps_in_process>complete")
	})
}

// After a transaction with an unknown outcome, listeners get a gap.
func TestListenInDoubt(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		ids := s.submit(sub)
		l, one := s.listen(feed.Filter{}), s.listen(feed.Filter{Tasks: ids})
		hears(t, "about a task, at first", one, "stream.open >steps_in_process")
		s.store.doubt = task.Errorf(task.Unavailable, "the connection was lost")
		_, err := s.Cancel(t.Context(), ids, engine.Cancellation{Actor: "a", Reason: "r"})
		if err == nil {
			t.Fatal("no error")
		}
		s.store.doubt = nil
		hears(t, "all", l, "stream.open stream.gap")
		hears(t, "about a task", one, "stream.gap >cancelled")
	})
}

func TestListenToTheQueue(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		s.submit(sub)
		l := s.listen(feed.Filter{Queue: true, Kinds: []feed.ChangeKind{feed.QueueCounted}})
		n := s.listen(feed.Filter{Queue: true, Kinds: []feed.ChangeKind{feed.QueueCounted}, Namespaces: []string{"n"}})
		hears(t, "at first", l, "stream.open 1 map[25:0 50:1 75:0]")
		hears(t, "of a namespace", n, "stream.open 0 map[25:0 50:0 75:0]")
		s.submit(engine.Submission{TaskType: "job", Namespace: "n", Priority: "high"}, sub)
		hears(t, "more", l, "3 map[25:0 50:2 75:1]")
		hears(t, "more of a namespace", n, "1 map[25:0 50:0 75:1]")
	})
}

func TestListenersShareTheCount(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		asked := 0
		s.store.asked = &asked
		s.submit(engine.Submission{TaskType: "job"}) // makes the route
		asked = 0
		for i := range 10 {
			l := s.listen(feed.Filter{Queue: true, Kinds: []feed.ChangeKind{feed.QueueCounted},
				Namespaces: []string{"default", "n"}[i%2 : i%2+1]})
			for { // the opening comes first
				got, err := l.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if last := got[len(got)-1]; last.Queue != nil {
					if last.Queue.Ready != 1-i%2 {
						t.Errorf("listener %d hears of %d ready steps", i, last.Queue.Ready)
					}
					break
				}
			}
		}
		if asked != 1 {
			t.Errorf("the store was asked for routes and workers %d times, want once", asked)
		}
	})
}

func TestListenEndsWithContext(t *testing.T) {
	inStudio(t, func(t *testing.T, s *studio) {
		l := s.listen(feed.Filter{})
		hears(t, "at first", l, "stream.open")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Next(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
			t.Errorf("it ended with %v", err)
		}
		l.Close()
		l.Close()
	})
}
