package scenario_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// TestCaseOfATaskThatAlwaysFails: repeated failures and replays take no more room than ten failures. The stores test
// a thousand.
func TestCaseOfATaskThatAlwaysFails(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			const repeats = 60
			s := newStalled(t, k)
			none := 0
			receipts, err := s.engine.Submit(s.ctx,
				[]engine.Submission{{TaskType: "job", MaxRetries: &none, Context: []byte(`"` + strings.Repeat("x", 8<<10) + `"`)}},
				false)
			s.must(err)
			id := receipts[0].ID
			for n := range repeats {
				if n > 0 {
					_, err := s.engine.Replay(s.ctx, id, engine.Replay{Actor: "ada", ResetAttempts: true})
					s.must(err)
					_, err = s.engine.FireTimers(s.ctx, 10)
					s.must(err)
				}
				s.failNext(fmt.Sprintf("E%d", n))
			}
			c, err := s.engine.CaseOfTask(s.ctx, id)
			s.must(err)
			size := len(c.Snapshot)
			for _, o := range c.Former {
				size += len(o.Snapshot)
			}
			if c.Occurrences != repeats || len(c.Former) != task.KeptOccurrences-1 || c.Former[0].Fingerprint != "E0" ||
				c.Fingerprint != fmt.Sprintf("E%d", repeats-1) {
				t.Errorf("of %d failures %d are counted and %d kept, from %s to %s", repeats, c.Occurrences, len(c.Former)+1,
					c.Former[0].Fingerprint, c.Fingerprint)
			}
			if size > task.OccurrenceBytes {
				t.Errorf("the snapshots are %d bytes", size)
			}
			if c.Replays.Count != repeats-1 {
				t.Errorf("%d replays are counted", c.Replays.Count)
			}
		})
	}
}

func (s *stalled) failNext(code string) {
	s.t.Helper()
	leases, _, err := s.engine.Poll(s.ctx, s.worker, 1, 0, true)
	s.must(err)
	if len(leases) != 1 {
		s.t.Fatalf("the worker was given %d steps", len(leases))
	}
	l := leases[0]
	answers, err := s.engine.Settle(s.ctx,
		[]engine.Result{{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultFailed,
			Failure: &task.Failure{Code: code, Message: code, Retryable: true}}})
	s.must(err)
	s.must(answers[0].Err)
}

// TestNodesShareACase: failures, replays and notes from two nodes are all kept.
func TestNodesShareACase(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	nodes := []*engine.Engine{startNode(t, dsn, time.Second), startNode(t, dsn, time.Second)}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := nodes[0].Register(ctx, task.Worker{})
	must(err)
	none := 0
	receipts, err := nodes[1].Submit(ctx, []engine.Submission{{TaskType: "job", MaxRetries: &none}}, false)
	must(err)
	id := receipts[0].ID
	const repeats, notes = 12, 30
	noted := make(chan error, 2)
	note := func(node *engine.Engine) {
		for n := range notes {
			c, err := node.CaseOfTask(ctx, id)
			if err == nil {
				text := fmt.Sprintf("note %d", n)
				_, err = node.UpdateCase(ctx, c.ID, task.CaseChange{Notes: &text, Actor: "ada"})
			}
			if err != nil {
				noted <- err
				return
			}
		}
		noted <- nil
	}
	for n := range repeats {
		leases, _, err := nodes[0].Poll(ctx, w.ID, 1, patient, true)
		must(err)
		if len(leases) != 1 {
			t.Fatalf("the worker was given %d steps", len(leases))
		}
		answers, err := nodes[n%2].Settle(ctx,
			[]engine.Result{{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Status: engine.ResultFailed,
				Worker:  leases[0].Step.WorkerNo,
				Failure: &task.Failure{Code: fmt.Sprintf("E%d", n), Message: "x", Retryable: true}}})
		must(err)
		must(answers[0].Err)
		if n == 0 {
			go note(nodes[0])
			go note(nodes[1])
		}
		if n < repeats-1 {
			_, err = nodes[1-n%2].Replay(ctx, id, engine.Replay{Actor: "bob", ResetAttempts: true})
			must(err)
		}
	}
	must(<-noted)
	must(<-noted)
	c, err := nodes[1].CaseOfTask(ctx, id)
	must(err)
	if c.Occurrences != repeats || c.Fingerprint != fmt.Sprintf("E%d", repeats-1) || c.Replays.Count != repeats-1 ||
		len(c.Thread) != 2*notes || c.NoteCount != 2*notes {
		t.Errorf("the case has %d occurrences, the last %s, %d replays and %d notes", c.Occurrences, c.Fingerprint,
			c.Replays.Count, len(c.Thread))
	}
}

// TestSnapshotIsBounded: a snapshot of any task has a limit and shows the failed step.
func TestSnapshotIsBounded(t *testing.T) {
	t.Parallel()
	s := newStalled(t, once)
	const steps = 1000
	tpl := &task.Template{Namespace: "default", Name: "wide", Version: "1", Fingerprint: "wide", CreatedAt: s.now}
	var names []string
	for i := range steps {
		spec := task.StepSpec{Name: fmt.Sprintf("%s_%d", strings.Repeat("a_long_name", 5), i), Handler: "h",
			Retry: task.DefaultRetry()}
		if i > 0 {
			spec.Dependencies = names[:min(i, 20)]
		}
		names = append(names, spec.Name)
		tpl.Steps = append(tpl.Steps, spec)
	}
	tpl.Link()
	s.must(s.store.Write(s.ctx, func(ctx context.Context, tx engine.Tx) error {
		fresh := *tpl
		_, err := tx.InsertTemplate(ctx, &fresh)
		return err
	}))
	receipts, err := s.engine.Submit(s.ctx, []engine.Submission{{Name: "wide"}}, false)
	s.must(err)
	leases, _, err := s.engine.Poll(s.ctx, s.worker, 1, 0, true)
	s.must(err)
	answers, err := s.engine.Settle(s.ctx,
		[]engine.Result{{Step: leases[0].Step.ID, Token: leases[0].Step.Token, Status: engine.ResultFailed,
			Failure: &task.Failure{Message: "broken"}}})
	s.must(err)
	s.must(answers[0].Err)
	c, err := s.engine.CaseOfTask(s.ctx, receipts[0].ID)
	s.must(err)
	var shown struct {
		Steps []struct {
			Name      string
			LastError *struct{ Message string } `json:"last_error"`
		}
		Omitted int `json:"steps_omitted"`
	}
	s.must(json.Unmarshal(c.Snapshot, &shown))
	if len(c.Snapshot) > 512<<10 || shown.Omitted == 0 || len(shown.Steps)+shown.Omitted != steps ||
		shown.Steps[0].LastError == nil {
		t.Errorf("the snapshot is %d bytes, with %d steps and %d omitted", len(c.Snapshot), len(shown.Steps), shown.Omitted)
	}
}
