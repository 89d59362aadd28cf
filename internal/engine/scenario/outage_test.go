package scenario_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// While the database is down, every question about cases returns an error, never an empty list.
func TestCasesWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=off")
	store, err := postgres.Open(t.Context(), server.DSN(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, store) })
	s := newStalled(t, kind{"postgres", func(*testing.T) (engine.Database, func() engine.Database) {
		return sameIDs{store, task.NewSource(seedOfIDs, 0)}, nil
	}})
	ids := s.stall(3)
	if _, err := s.engine.DetectStaleness(s.ctx, 2, false); err != nil {
		t.Fatal(err)
	}
	c, err := s.engine.CaseOfTask(s.ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.engine.UpdateCase(s.ctx, c.ID,
		task.CaseChange{Actor: "ada", Metadata: []byte(`{"seen":true}`)}); err != nil {
		t.Fatal(err)
	}
	questions := s.questions(ids[0], c.ID)
	ask := func() (answers map[string]int, errs map[string]error) {
		answers, errs = map[string]int{}, map[string]error{}
		ctx, cancel := context.WithTimeout(s.ctx, patient)
		defer cancel()
		for name, q := range questions {
			answers[name], errs[name] = q(ctx)
		}
		return answers, errs
	}
	before, errs := ask()
	for name, n := range before {
		if n == 0 || errs[name] != nil {
			t.Errorf("%s answers %d, %v", name, n, errs[name])
		}
	}
	if err := server.Stop(pgtest.Immediate); err != nil {
		// backends of a killed postmaster answer for a moment
		t.Fatal(err)
	}
	down, errs := ask()
	for name, n := range down {
		if n != 0 || task.CodeOf(errs[name]) != task.Unavailable || errors.Is(errs[name], context.DeadlineExceeded) {
			t.Errorf("%s answers %d, %v while the database is down", name, n, errs[name])
		}
	}
	if _, err := s.engine.DetectStaleness(s.ctx, 10, false); task.CodeOf(err) != task.Unavailable {
		t.Errorf("the detector answers %v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patient); store.Ping(s.ctx) != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	after, errs := ask()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("after the outage the answers differ (-before +after):\n%s\n%v", diff, errs)
	}
	if found, err := s.engine.DetectStaleness(s.ctx, 10, false); err != nil || len(found) != 1 {
		t.Errorf("after the outage the detector finds %+v, %v", found, err)
	}
}

// questions are all reads of cases; each returns the size of its answer.
func (s *stalled) questions(id, caseID task.ID) map[string]func(context.Context) (int, error) {
	e, page := s.engine, engine.CaseFilter{Limit: 10}
	return map[string]func(context.Context) (int, error){
		"Cases": func(ctx context.Context) (int, error) { list, err := e.Cases(ctx, page); return len(list), err },
		"InvestigationQueue": func(ctx context.Context) (int, error) {
			list, err := e.InvestigationQueue(ctx, page)
			return len(list), err
		},
		"CountCases": func(ctx context.Context) (int, error) { list, err := e.CountCases(ctx, page); return len(list), err },
		"Case":       func(ctx context.Context) (int, error) { c, err := e.Case(ctx, caseID); return count(c), err },
		"CaseOfTask": func(ctx context.Context) (int, error) { c, err := e.CaseOfTask(ctx, id); return count(c), err },
		"Staleness": func(ctx context.Context) (int, error) {
			list, err := e.Staleness(ctx, engine.StalenessFilter{Limit: 10})
			return len(list), err
		},
		"DryRun": func(ctx context.Context) (int, error) {
			list, err := e.DetectStaleness(ctx, 10, true)
			return len(list), err
		},
		"Audit": func(ctx context.Context) (int, error) {
			list, err := e.Audit(ctx, engine.ActFilter{Limit: 10})
			return len(list), err
		},
	}
}

func count(c *task.Case) int {
	if c == nil {
		return 0
	}
	return 1
}
