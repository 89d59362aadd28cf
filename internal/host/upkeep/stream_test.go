package upkeep_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ear reads a listener in the background.
type ear struct {
	t       *testing.T
	heard   chan feed.Notice
	ended   chan error
	hangUp  func()
	history []feed.Notice
}

func (n *node) listen(l feed.Filter) *ear {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	stream, err := n.ListenTo(ctx, l)
	if err != nil {
		n.t.Fatal(err)
	}
	e := &ear{t: n.t, heard: make(chan feed.Notice, 10_000), ended: make(chan error, 1), hangUp: cancel}
	go func() {
		defer stream.Close()
		for {
			batch, err := stream.Next(ctx)
			for _, notice := range batch {
				e.heard <- notice
			}
			if err != nil {
				e.ended <- err
				return
			}
		}
	}()
	n.t.Cleanup(cancel)
	return e
}

// next returns the notices since the last call.
func (e *ear) next() []feed.Notice {
	synctest.Wait()
	var out []feed.Notice
	for len(e.heard) > 0 {
		out = append(out, <-e.heard)
	}
	e.history = append(e.history, out...)
	return out
}

// kinds returns the kinds of notices; a state shows which.
func kinds(list []feed.Notice) string {
	var words []string
	for _, n := range list {
		word := string(n.Kind)
		if n.Kind == feed.TaskMoved {
			word = string(n.From) + ">" + string(n.To)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (e *ear) hears(what, want string) []feed.Notice {
	e.t.Helper()
	got := e.next()
	got = slices.DeleteFunc(got, func(n feed.Notice) bool { return n.Kind == feed.StreamAlive })
	if kinds(got) != want {
		e.t.Errorf("%s: heard %q, want %q", what, kinds(got), want)
	}
	return got
}

// A listener hears other nodes' commits, and that it may have missed earlier ones.
func TestListenerHearsOtherNodes(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		e := a.listen(feed.Filter{})
		e.hears("at first", "stream.open")
		time.Sleep(2 * time.Second)
		e.hears("once the other node tells", "stream.gap")
		w := b.register(task.Worker{})
		b.submit(job)
		l := b.take(w, 0)
		time.Sleep(300 * time.Millisecond)
		got := e.hears("after a submission there", "task.submitted")
		if len(got) == 1 && (got[0].To != task.StepsInProcess || got[0].Cause != "submit" || got[0].Task != l.Task.ID) {
			t.Errorf("heard %+v", got[0])
		}
		b.settle(l, engine.Result{Status: engine.ResultCompleted})
		time.Sleep(300 * time.Millisecond)
		e.hears("after the result", "steps_in_process>complete")
		time.Sleep(time.Minute)
		e.hears("in a minute of silence", "")

		d.setLossy(true)
		b.submit(job)
		time.Sleep(time.Second)
		d.setLossy(false)
		e.hears("while news are lost", "")
		b.submit(job)
		time.Sleep(2 * time.Second)
		e.hears("after news were lost", "task.submitted stream.gap")

		e.hangUp()
		<-e.ended
		time.Sleep(3 * time.Minute)
		d.mu.Lock()
		told := d.told
		d.mu.Unlock()
		b.submit(job)
		time.Sleep(time.Minute)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.told != told {
			t.Errorf("nobody listens, and %d notifications were sent", d.told-told)
		}
	})
}

// A dead node, or its lost connection, leaves a gap.
func TestSilenceIsAGap(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		e := a.listen(feed.Filter{})
		time.Sleep(2 * time.Second)
		e.hears("at first", "stream.open stream.gap")
		b.stop()
		time.Sleep(30 * time.Second)
		e.hears("when the other node is dead", "stream.gap")
		d.hangUp()
		time.Sleep(20 * time.Second)
		if got := e.next(); !strings.Contains(kinds(got), "stream.gap") {
			t.Errorf("when the connection for news was cut: heard %q", kinds(got))
		}
	})
}

// A listener for tasks hears of them within the poll interval, even without news.
func TestListenerAboutTasks(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		d.setLossy(true)
		w := b.register(task.Worker{})
		id := a.submit(job)
		e := a.listen(feed.Filter{Tasks: []task.ID{id}, UntilSettled: true})
		e.hears("at first", "stream.open >steps_in_process")
		l := b.take(w, 2*time.Second)
		b.settle(l, engine.Result{Status: engine.ResultCompleted})
		time.Sleep(1100 * time.Millisecond)
		e.hears("after it was settled elsewhere", "steps_in_process>complete")
		if err := <-e.ended; !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v", err)
		}
		if d.told != 0 {
			t.Errorf("%d notifications for a stream about a task", d.told)
		}
	})
}

// An outage ends streams, so that clients look elsewhere.
func TestOutageEndsStreams(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, _ := pair(t, settings.Config{})
		id := a.submit(job)
		all, one := a.listen(feed.Filter{}), a.listen(feed.Filter{Tasks: []task.ID{id}})
		a.store.setAway(true)
		for _, e := range []*ear{all, one} {
			var why *task.Error
			if err := <-e.ended; !errors.As(err, &why) || why.Code != task.Unavailable {
				t.Errorf("the stream ended with %v", err)
			}
		}
	})
}
