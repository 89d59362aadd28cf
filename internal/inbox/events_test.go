package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

type stream struct {
	*rig
	events chan tasker.Event
	last   string
}

func (r *rig) listen(f tasker.EventFilter) *stream {
	r.t.Helper()
	s := &stream{rig: r, events: make(chan tasker.Event, 1000)}
	ctx, stop := context.WithCancel(r.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for batch, err := range r.node.StreamEvents(ctx, f) {
			if err != nil {
				return
			}
			for _, e := range batch {
				s.events <- e
			}
		}
	}()
	r.t.Cleanup(func() { stop(); <-ended })
	if f.LastEventID == "" {
		r.want("the first event", s.next().Type, tasker.EventStreamOpen)
	}
	return s
}

// next skips signs of life.
func (s *stream) next() tasker.Event {
	s.t.Helper()
	for {
		select {
		case e := <-s.events:
			if e.Type != tasker.EventStreamAlive {
				s.last = e.ID
				return e
			}
		case <-time.After(30 * time.Second):
			s.t.Fatal("no event arrives")
		}
	}
}

// as "type state"
func (s *stream) expect(want ...string) (last tasker.Event) {
	s.t.Helper()
	for _, w := range want {
		last = s.next()
		got := string(last.Type)
		switch {
		case last.Group != nil:
			got += " " + last.Group.State
		case last.Redrive != nil:
			got += " " + last.Redrive.State
		case last.Replay != nil:
			got += " " + last.Replay.State
		case last.Source != nil:
			got += " " + last.Source.Name
		}
		s.want("the next event", got, w)
	}
	return last
}

// Events follow their commit, in order, and a stream resumes where it was left.
func TestGroupEvents(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		s, elsewhere := r.listen(tasker.EventFilter{}), r.listen(tasker.EventFilter{Namespaces: []string{"mill"}})
		group := r.die(dead(1, "Timeout"), dead(2, "Timeout"))[0].Group
		r.pass(time.Second)
		e := s.expect("group.new open")
		r.want("the group", e.Group.GroupID, group)
		r.want("namespace, failures and title", fmt.Sprint(e.Namespace, e.Group.Failures, e.Group.Title),
			"default2Timeout: Timeout of order <n>")
		r.die(dead(3, "Timeout"))
		r.pass(time.Second)
		change := func(state model.GroupState) {
			t.Helper()
			if _, err := r.ChangeGroup(t.Context(), group, groups.GroupChange{State: state}); err != nil {
				t.Fatal(err)
			}
		}
		change(model.GroupAcknowledged)
		change(model.GroupResolved)
		e = s.expect("group.state acknowledged", "group.state resolved")
		r.want("from, by", e.Group.FromState+" "+e.Cause, "acknowledged resolve_group")
		note := "no change of state"
		if _, err := r.ChangeGroup(t.Context(), group, groups.GroupChange{Note: note}); err != nil {
			t.Fatal(err)
		}
		before := s.last
		r.pass(time.Minute)
		r.die(dead(4, "Timeout"))
		r.pass(time.Second)
		e = s.expect("group.regression open")
		r.want("from", e.Group.FromState, "resolved")
		r.listen(tasker.EventFilter{LastEventID: before}).expect("group.regression open")
		r.want("events of another namespace", len(elsewhere.events), 0)
	})
}

// A group counted in two turns is new once, regardless of the consumer's times.
func TestNewGroupOnce(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		s := r.listen(tasker.EventFilter{})
		old := dead(1, "Old")
		old.FailedAt = task.At(noon.Add(-2 * time.Hour))
		r.die(old)
		r.pass(time.Second)
		for n := range 3 {
			r.die(dead(10+n, "Timeout"))
		}
		r.pass(time.Second)
		r.die(dead(20, "Timeout"))
		r.pass(time.Second)
		r.die(dead(30, "Last"))
		r.pass(time.Second)
		r.want("new", s.expect("group.new open").Group.Title, "Old: Old of order <n>")
		r.want("new", s.expect("group.new open").Group.Title, "Timeout: Timeout of order <n>")
		r.want("and then", s.expect("group.new open").Group.Title, "Last: Last of order <n>")
	})
}

// A group that fails once an hour and then 60 times has a burst; the next is reported six hours later.
func TestBurst(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		s := r.listen(tasker.EventFilter{Types: []tasker.EventType{tasker.EventGroupBurst, tasker.EventGroupNew}})
		n := 0
		fail := func(times int) {
			t.Helper()
			var batch []inbox.Arrival
			for range times {
				n++
				batch = append(batch, dead(n, "Timeout"))
			}
			r.die(batch...)
			r.pass(time.Second)
		}
		for range 4 {
			fail(1)
			r.pass(time.Hour)
		}
		s.expect("group.new open")
		fail(49)
		fail(11)
		e := s.expect("group.burst open")
		r.want("this hour, usually", fmt.Sprint(e.Group.ThisHour, " ", e.Group.UsualPerHour), "60 1")
		fail(100)
		r.pass(3 * time.Hour)
		fail(300) // ten times the mean, but too early
		r.pass(4 * time.Hour)
		fail(500)
		r.want("the next", s.expect("group.burst open").Group.ThisHour, 500)
	})
}

// Each state of a redrive is an event, with counts where no wave is under way.
func TestRedriveEvents(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for n := range 10 {
			r.die(dead(n, "Timeout"))
		}
		r.pass(time.Second)
		s := r.listen(tasker.EventFilter{Types: []tasker.EventType{tasker.EventRedriveState}})
		redrive, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive,
			Selection: deadletter.Selection{Namespace: "default", Source: "orders"},
			Plan:      deadletter.Plan{Canary: 2, Factor: 2, Largest: 8, Observe: time.Minute},
			Stop:      deadletter.StopRule{ReturnedShare: 0.4}})
		if err != nil {
			t.Fatal(err)
		}
		act := func(what model.RedriveAction) {
			t.Helper()
			if _, err := r.ActOnRedrive(t.Context(), redrive.ID, what, inbox.By{}); err != nil {
				t.Fatal(err)
			}
		}
		e := s.expect("redrive.state draft")
		r.want("items", fmt.Sprint(e.Redrive.Total, e.Redrive.Counts.Pending), "10 10")
		act(model.StartRedrive)
		r.pass(time.Second)
		e = s.expect("redrive.state running", "redrive.state observing")
		r.want("decided", fmt.Sprint(e.Redrive.Decided, e.Redrive.Wave, e.Redrive.Counts), "2 1 <nil>")
		r.die(back(r.letter(mustID(t, r.broker.sent[0])), "Timeout"))
		r.pass(time.Minute)
		e = s.expect("redrive.state halted")
		r.want("returned", fmt.Sprint(e.Redrive.Counts.Sent, e.Redrive.Counts.Returned), "1 1")
		if !strings.Contains(e.Redrive.HaltReason, "came back") {
			t.Errorf("halted because of %q", e.Redrive.HaltReason)
		}
		act(model.ResumeRedrive)
		act(model.PauseRedrive)
		act(model.ResumeRedrive)
		act(model.CancelRedrive)
		s.expect("redrive.state running", "redrive.state paused", "redrive.state running")
		e = s.expect("redrive.state cancelled")
		r.want("pending", e.Redrive.Counts.Pending, 8)
	})
}

// flaky has a broker that can fail.
type flaky struct {
	*broker
	report chan func(error)
}

func (f *flaky) Read(ctx context.Context, _ *deadletter.Source, _ seam.ReadOptions,
	_ func([]inbox.Arrival) func(context.Context) error, report func(error),
) {
	f.report <- report
	<-ctx.Done()
}

// A source that fails for 30 seconds is lost once, for all nodes, and found when it is read again.
func TestSourceEvents(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		f := r.carriers["memory"].(*flaky)
		s := r.listen(tasker.EventFilter{Types: []tasker.EventType{tasker.EventSourceLost, tasker.EventSourceFound}})
		log := slog.New(slog.DiscardHandler)
		a, b := capture.NewReaders(r.Capturer, "a", log), capture.NewReaders(r.Capturer, "b", log)
		defer a.Stop()
		defer b.Stop()
		look := func(of *capture.Readers) {
			t.Helper()
			if err := of.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		state := func(want, why string) {
			t.Helper()
			list, err := r.Sources(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			r.want("state of the source", list[0].State+list[0].Error, want+why)
		}
		look(a)
		report := <-f.report
		report(errors.New("connection refused"))
		look(a)
		state("reading", "")
		r.pass(2 * time.Second)
		report(nil)
		report(errors.New("connection refused"))
		r.pass(3 * time.Second)
		look(a)
		state("reading", "")
		for range 9 {
			r.pass(3 * time.Second)
			look(a)
		}
		state("lost", "connection refused")
		r.want("why", s.expect("source.lost orders").Source.Error, "connection refused")
		a.Stop()
		look(b)
		again := <-f.report
		r.pass(time.Second)
		look(b)
		state("lost", "connection refused") // not known yet
		again(fmt.Errorf("%w: database", seam.ErrBlocked))
		look(b)
		state("reading", "")
		s.expect("source.found orders")
		again(errors.New("gone"))
		r.pass(3 * time.Second)
		look(b)
		state("reading", "")
	}, func(o *node.Options) {
		o.Carriers["memory"] = &flaky{broker: newBroker(), report: make(chan func(error), 10)}
	})
}
