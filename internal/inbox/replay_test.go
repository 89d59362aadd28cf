package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/replay"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// log is a broker's log of a queue, from offset begin.
type log struct {
	begin, end int64
	err        error               // the broker's answer
	sent       *deadletter.Content // all messages; nil: others
}

func (b *broker) kept() (log, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.log == nil {
		return log{}, seam.ErrNoLog
	}
	return *b.log, b.log.err
}

func (b *broker) LogParts(context.Context, *deadletter.Source, string, time.Time, time.Time) ([]model.ReplayPart,
	error,
) {
	l, err := b.kept()
	return []model.ReplayPart{{From: l.begin, To: l.end}}, err
}

func (b *broker) ReadLog(_ context.Context, _ *deadletter.Source, _ string, part model.ReplayPart, max int) (
	list []seam.LogEntry, next int64, err error,
) {
	l, err := b.kept()
	if err != nil {
		return nil, part.Next, err
	}
	if part.Next < l.begin {
		return nil, l.begin, &seam.GoneError{Messages: l.begin - part.Next, Why: "retention"}
	}
	for next = part.Next; next < part.To && len(list) < max; next++ {
		at := next
		e := seam.LogEntry{Offset: at, Key: fmt.Append(nil, "k", at%2), Arrival: func() inbox.Arrival {
			a := dead(int(at), "Timeout")
			a.Position = fmt.Sprint("log/", at)
			return a
		}}
		if l.sent != nil {
			e.Headers, e.Arrival = l.sent.Headers, func() inbox.Arrival {
				return inbox.Arrival{Report: inbox.Report{Content: *l.sent}}
			}
		}
		list = append(list, e)
	}
	return list, next, nil
}

func (b *broker) keeps(begin, end int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = &log{begin: begin, end: end, err: err}
}

func (r *rig) replays(spec deadletter.ReplaySpec) *deadletter.Replay {
	r.t.Helper()
	got, err := r.CreateReplay(r.t.Context(), replay.Request{Namespace: "default", Source: "orders", Spec: spec,
		Start: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// A preview stores nothing, and refuses like a replay.
func TestReplayPreview(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		request := replay.Request{Namespace: "default", Source: "orders"}
		_, err := r.PreviewReplay(t.Context(), request)
		r.refused(err, task.Invalid) // the broker keeps nothing
		r.broker.keeps(0, 30, nil)
		r.die(func() inbox.Arrival { a := dead(2, "Timeout"); a.Position = "log/2"; return a }())
		key := "k0"
		request.Spec.Key = &key
		p, err := r.PreviewReplay(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		r.want("the preview", fmt.Sprint(p.Replay.Left(), p.Scanned, p.Selected, p.Whole, len(p.Samples)),
			"30 30 15 true 10")
		r.want("the second sample", fmt.Sprint(p.Samples[1].Offset, p.Samples[1].Known, p.Samples[2].Known), "2 true false")
		list, err := r.Replays(t.Context(), replay.Filter{Limit: 10})
		r.want("replays", fmt.Sprint(len(list), err), "0 <nil>")
		r.want("letters", fmt.Sprint(r.groups()), "[Timeout open 1]")
		for what, by := range map[string]inbox.By{"actor": {Actor: "a\x00"}, "reason": {Reason: "a\x00"}} {
			request.By = by
			if _, err := r.PreviewReplay(t.Context(), request); task.CodeOf(err) != task.Invalid {
				t.Errorf("a control character in the %s is answered %v", what, err)
			}
		}
		request.By = inbox.By{}
		r.broker.keeps(0, 30, errors.New("the broker is down"))
		_, err = r.PreviewReplay(t.Context(), request)
		r.refused(err, task.Unavailable)
		r.broker.keeps(30, 30, nil)
		_, err = r.PreviewReplay(t.Context(), request)
		r.refused(err, task.Conflict)
	})
}

// Each state of a replay is an event, and failures go to webhooks.
func TestReplayIsTold(t *testing.T) {
	t.Parallel()
	hook := func(o *node.Options) {
		o.Webhooks = []webhook.Endpoint{{Name: "ops", URL: "http://127.0.0.1:1", Events: []string{"replay.failed"}}}
	}
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.broker.keeps(0, 20, nil)
		r.die(func() inbox.Arrival { a := dead(7, "Timeout"); a.Position = "log/7"; return a }())
		s := r.listen(tasker.EventFilter{Types: []tasker.EventType{tasker.EventReplayState}})
		first := r.replays(deadletter.ReplaySpec{})
		r.broker.keeps(5, 20, nil)
		r.pass(time.Second)
		e := s.expect("replay.state running", "replay.state done")
		r.want("the end", fmt.Sprintf("%+v", *e.Replay), fmt.Sprintf("{ReplayUUID:%s Source:orders Topic:orders.dlq "+
			"Into:inbox FromState:running State:done Why: Left:0 Letters:14 Tasks:0 Known:1 Gone:5}", first.ID))
		second := r.replays(deadletter.ReplaySpec{})
		r.broker.keeps(0, 20, fmt.Errorf("%w: no permission", seam.ErrForGood))
		r.pass(time.Second)
		e = s.expect("replay.state running", "replay.state failed")
		r.want("why", e.Replay.Why, "it cannot be read: no permission")
		if _, err := r.ActOnReplay(t.Context(), second.ID, model.CancelRedrive, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		s.expect("replay.state cancelled")
		r.want("told", r.told.all(), []string{"orders captured 15", "orders duplicate 1", "replay cancelled 1",
			"replay done 1", "replay failed 1", "replay running 2", "replayed: gone 5", "replayed: known 1",
			"replayed: letter 14"})
		r.pass(time.Second)
		if got := r.deliveries(); len(got) != 1 || !strings.HasSuffix(got[0], " ops replay.failed") {
			t.Errorf("the deliveries are %q", got)
		}
	}, hook)
}

// A replay is deleted 30 days after its end, without its letters.
func TestEndedReplaysAreDeleted(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.broker.keeps(0, 3, nil)
		open, err := r.CreateReplay(t.Context(), replay.Request{Namespace: "default", Source: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		done := r.replays(deadletter.ReplaySpec{})
		r.pass(time.Second)
		ended, err := r.Replay(t.Context(), done.ID)
		if err != nil || ended.State != model.ReplayDone {
			t.Fatalf("the replay is %+v: %v", ended, err)
		}
		r.want("kept for", ended.PurgeAt.Sub(ended.Progress.EndedAt), 30*24*time.Hour)
		r.pass(30*24*time.Hour - 2*time.Second)
		if _, err := r.Replay(t.Context(), done.ID); err != nil {
			t.Errorf("deleted too early: %v", err)
		}
		r.pass(3 * time.Second)
		_, err = r.Replay(t.Context(), done.ID)
		r.refused(err, task.NotFound)
		if _, err := r.Replay(t.Context(), open.ID); err != nil {
			t.Errorf("a draft is deleted: %v", err)
		}
		r.want("letters", r.groups(), "[Timeout open 3]")
	})
}

// A replay that makes tasks fails once its source has no intake, and makes no letters.
func TestReplayIntoTasksNeedsAnIntake(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		source := deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq"}
		taking := source
		taking.Intake = &deadletter.Intake{TaskType: "work"}
		r.source(taking)
		r.broker.keeps(0, 3, nil)
		made := r.replays(deadletter.ReplaySpec{})
		r.source(source)
		r.pass(time.Second)
		got, err := r.Replay(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.want("the replay", fmt.Sprint(got.State, " ", got.Progress.Why),
			"failed it cannot be read: the source orders has no intake any more")
		r.want("letters", r.groups(), "[]")
	})
}
