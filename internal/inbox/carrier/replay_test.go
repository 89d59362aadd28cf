package carrier_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/replay"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// onEveryLog runs a script on each broker with a log and each database. The node does not run: the script calls its
// loops.
func onEveryLog(t *testing.T, script func(t *testing.T, r *intakeRig, n *node.Node, db faulty)) {
	t.Helper()
	for i, broker := range []string{"memory", "kafka"} {
		for k, database := range []string{"PostgreSQL", "SQLite"} {
			if testing.Short() && i%2 != k {
				continue
			}
			t.Run(broker+"/"+database, func(t *testing.T) {
				t.Parallel()
				r := newIntakeRig(t, broker, database)
				db := r.db()
				script(t, r, r.idle(db), db)
			})
		}
	}
}

func (r *intakeRig) idle(db faulty) *node.Node {
	r.t.Helper()
	n, err := node.New(r.t.Context(), db, node.Options{Engine: r.config, Drivers: driver.Registry{r.kind: r.open}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = n.Close() })
	return n
}

// The queue of a paused source has no reader.
func pausedSource(t *testing.T, r *intakeRig, n *node.Node, in *deadletter.Intake, targets ...string) {
	t.Helper()
	if _, err := n.Inbox().SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "jobs", Driver: r.kind,
		URL: r.url, Queue: r.queue, Intake: in, Targets: targets, Paused: true}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
}

func replayed(t *testing.T, n *node.Node, spec deadletter.ReplaySpec) *deadletter.Replay {
	t.Helper()
	r, err := n.Inbox().CreateReplay(t.Context(), replay.Request{Namespace: "default", Source: "jobs", Spec: spec,
		Start: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// advanced advances replays until one has left the state running.
func advanced(t *testing.T, n *node.Node, id task.ID) *deadletter.Replay {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if _, _, err := n.Inbox().AdvanceReplays(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := n.Inbox().Replay(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if r.State != model.ReplayRunning {
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("the replay does not end: %+v", r.Progress)
		}
	}
}

func numbered(from, to int) (list []driver.Message) {
	for i := from; i < to; i++ {
		list = append(list, driver.Message{Key: fmt.Append(nil, "k", i%3),
			Headers: []deadletter.Header{{Name: "tenant", Value: fmt.Append(nil, "t", i%2)}},
			Payload: fmt.Appendf(nil, `{"type":"mail","n":%d}`, i)})
	}
	return list
}

func (r *intakeRig) putAll(list []driver.Message) {
	r.t.Helper()
	for i, err := range r.driver.Send(r.t.Context(), r.queue, list, driver.Limits{}) {
		if err != nil {
			r.t.Fatalf("send %d: %v", i, err)
		}
	}
}

func counted(t *testing.T, r *deadletter.Replay, state model.ReplayState, letters, tasks, known int64) {
	t.Helper()
	want := model.ReplayCounts{Letters: letters, Tasks: tasks, Known: known}
	if r.State != state || r.Progress.Counts != want {
		t.Fatalf("the replay is %s (%s) with %+v, want %s with %+v", r.State, r.Progress.Why, r.Progress.Counts, state, want)
	}
}

// Each message of the range is one letter, however often the range is replayed. The broker's queue stays unchanged.
func TestReplayIntoTheInbox(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, r *intakeRig, n *node.Node, _ faulty) {
		pausedSource(t, r, n, nil)
		r.putAll(numbered(0, 30))
		key := "k1"
		some := replayed(t, n, deadletter.ReplaySpec{Key: &key,
			Headers: []deadletter.Header{{Name: "tenant", Value: []byte("t0")}}})
		all, err := n.Inbox().CreateReplay(t.Context(), replay.Request{Namespace: "default", Source: "jobs"})
		if err != nil || all.State != model.ReplayDraft {
			t.Fatalf("the draft is %+v: %v", all, err)
		}
		r.putAll(numbered(30, 40))
		counted(t, advanced(t, n, some.ID), model.ReplayDone, 5, 0, 0)
		if _, err := n.Inbox().ActOnReplay(t.Context(), all.ID, model.StartRedrive, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		counted(t, advanced(t, n, all.ID), model.ReplayDone, 25, 0, 5)
		counted(t, advanced(t, n, replayed(t, n, deadletter.ReplaySpec{}).ID), model.ReplayDone, 10, 0, 30)
		if got := r.depth(); got != 40 {
			t.Errorf("%d messages wait in the queue, want 40", got)
		}
		page, err := n.Inbox().Letters(t.Context(), inbox.LetterFilter{Selection: deadletter.Selection{
			Namespace: "default"}, Limit: 100})
		if err != nil || len(page.Letters) != 40 {
			t.Errorf("there are %d letters, want 40: %v", len(page.Letters), err)
		}
	})
}

// A range makes no task twice, unless the replay has its own name.
func TestReplayAsTasks(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, r *intakeRig, n *node.Node, _ faulty) {
		pausedSource(t, r, n, nil)
		r.putAll(append(numbered(0, 10), driver.Message{Payload: []byte("no JSON")}))
		mail := &deadletter.Intake{TaskType: "/type"}
		run := func(repeat string) *deadletter.Replay {
			return advanced(t, n, replayed(t, n, deadletter.ReplaySpec{Intake: mail, Repeat: repeat}).ID)
		}
		counted(t, run(""), model.ReplayDone, 1, 10, 0)
		counted(t, run(""), model.ReplayDone, 1, 0, 10)
		counted(t, run("again"), model.ReplayDone, 1, 10, 0)
		counted(t, run("again"), model.ReplayDone, 1, 0, 10)
		if got := len(r.tasks(n)); got != 20 {
			t.Errorf("there are %d tasks, want 20", got)
		}
	})
}

// A node ends before or after any commit, and another one continues: nothing is missing or there twice, not even with
// two nodes.
func TestReplayGoesOn(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, r *intakeRig, n *node.Node, db faulty) {
		pausedSource(t, r, n, nil)
		r.putAll(numbered(0, 2500))
		second := n
		if _, shared := db.(engine.Cluster); shared {
			second = r.idle(r.db())
		}
		for name, in := range map[string]*deadletter.Intake{"letters": nil, "tasks": {TaskType: "/type"}} {
			id := replayed(t, n, deadletter.ReplaySpec{Intake: in}).ID
			for i := range 4 {
				db.fail(i%2, (i+1)%2)
				_, _, _ = n.Inbox().AdvanceReplays(t.Context()) // it fails
				db.fail(0, 0)
				done := make(chan error)
				go func() {
					_, _, err := second.Inbox().AdvanceReplays(t.Context())
					done <- err
				}()
				if _, _, err := n.Inbox().AdvanceReplays(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
			got := advanced(t, n, id)
			if name == "letters" {
				counted(t, got, model.ReplayDone, 2500, 0, 0)
			} else {
				counted(t, got, model.ReplayDone, 0, 2500, 0)
			}
		}
	})
}

func TestReplayUnderControl(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, r *intakeRig, n *node.Node, _ faulty) {
		pausedSource(t, r, n, nil, "other-*")
		r.putAll(numbered(0, 40))
		id := replayed(t, n, deadletter.ReplaySpec{Rate: 20}).ID
		if _, _, err := n.Inbox().AdvanceReplays(t.Context()); err != nil {
			t.Fatal(err)
		}
		act := func(what model.RedriveAction) (*deadletter.Replay, error) {
			return n.Inbox().ActOnReplay(t.Context(), id, what, inbox.By{})
		}
		got, err := act(model.PauseRedrive)
		if c := got.Progress.Counts.Letters; err != nil || c < 20 || c >= 40 {
			t.Fatalf("a second's turn at 20 a second has stored %d: %v", c, err)
		}
		stored := got.Progress.Counts.Letters
		if _, _, err := n.Inbox().AdvanceReplays(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ = n.Inbox().Replay(t.Context(), id); got.Progress.Counts.Letters != stored {
			t.Error("a paused replay goes on")
		}
		if _, err := act(model.StartRedrive); task.CodeOf(err) != task.WrongState {
			t.Errorf("a paused replay is started: %v", err)
		}
		if _, err = act(model.ResumeRedrive); err != nil {
			t.Fatal(err)
		}
		counted(t, advanced(t, n, id), model.ReplayDone, 40, 0, 0)
		if _, err := act(model.CancelRedrive); task.CodeOf(err) != task.WrongState {
			t.Errorf("what is done is cancelled: %v", err)
		}
		minus, zero := int64(-1), int64(0)
		for at, spec := range map[string]deadletter.ReplaySpec{
			"/topic": {Topic: "secret"}, "/into": {Into: "queue"}, "/intake": {Into: deadletter.ReplayIntoTasks},
			"/rate": {Rate: -1}, "/before": {Since: 2, Before: 1}, "/from_offset": {FromOffset: &minus},
			"/to_offset": {FromOffset: &zero, ToOffset: &zero}, "/headers/0/name": {Headers: make([]deadletter.Header, 1)},
			"/repeat": {Repeat: "x"},
		} {
			_, err := n.Inbox().CreateReplay(t.Context(), replay.Request{Namespace: "default", Source: "jobs", Spec: spec})
			var e *task.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Location != at {
				t.Errorf("%s: %v", at, err)
			}
		}
		missing := deadletter.ReplaySpec{Topic: "other-" + r.queue}
		_, err = n.Inbox().CreateReplay(t.Context(), replay.Request{Namespace: "default", Source: "jobs", Spec: missing})
		if task.CodeOf(err) != task.Invalid {
			t.Errorf("a topic that does not exist: %v", err)
		}
		late := deadletter.ReplaySpec{Since: task.At(time.Now().Add(time.Hour))}
		_, err = n.Inbox().CreateReplay(t.Context(), replay.Request{Namespace: "default", Source: "jobs", Spec: late})
		if task.CodeOf(err) != task.Conflict {
			t.Errorf("an empty range: %v", err)
		}
	})
}
