package apitest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

func TestTemplateStats(t *testing.T) { onEveryQueue(t, testTemplateStats) }

func testTemplateStats(t *testing.T, s *server) {
	s.register(t, "name: order\nnamespace_name: shop\nversion: \"1\"\nsteps:\n"+
		"  - {name: reserve, handler: stats_reserve}\n"+
		"  - {name: charge, handler: stats_charge, dependencies: [reserve], retry: {max_attempts: 1}}\n")
	s.work(t, map[string]worker.Handler{
		"stats_reserve": func(context.Context, *worker.Job) (any, error) { return nil, nil },
		"stats_charge": func(_ context.Context, job *worker.Job) (any, error) {
			if strings.Contains(string(job.Parameters), "poor") {
				return nil, &tasker.Failure{Message: "no money", Retryable: new(bool)}
			}
			return nil, nil
		},
	})
	filter := operate.TemplateStatsFilter{Namespace: "shop", Name: "order", Version: "1"}
	got, err := s.TemplateStats(s.ctx, filter)
	if err != nil || got.Tasks != 0 || len(got.Steps) != 2 || got.Steps[1].Name != "charge" || got.Took != nil {
		t.Errorf("without tasks, the statistics are %+v, %v", got, err)
	}
	for _, c := range []struct {
		context string
		want    tasker.TaskState
	}{{`{"poor":true}`, tasker.TaskError}, {`{}`, tasker.TaskComplete}, {`{}`, tasker.TaskComplete}} {
		s.settled(t, s.submit(t, tasker.TaskRequest{Name: "order", Namespace: "shop", Context: []byte(c.context)}), c.want)
	}
	got, err = s.TemplateStats(s.ctx, filter)
	if err != nil {
		t.Fatal(err)
	}
	if got.Tasks != 3 || got.Complete != 2 || got.Failed != 1 || got.Took == nil || got.SubmittedAt == nil {
		t.Errorf("the tasks are %+v", got)
	}
	if r := got.Steps[0]; r.Begun != 3 || r.Complete != 3 || r.Attempts != 3 || r.FailureRate != 0 {
		t.Errorf("the first step is %+v", r)
	}
	if c := got.Steps[1]; c.Begun != 3 || c.Complete != 2 || c.Failed != 1 || c.FailedAttempts != 1 ||
		c.FailureRate < 0.33 {
		t.Errorf("the second step is %+v", c)
	}
	filter.Tasks = 1
	if got, err = s.TemplateStats(s.ctx, filter); err != nil || got.Tasks != 1 || got.Failed != 0 {
		t.Errorf("of the newest task, the statistics are %+v, %v", got, err)
	}
	filter.Version = "2"
	if _, err = s.TemplateStats(s.ctx, filter); tasker.ErrorCode(err) != tasker.CodeNotFound {
		t.Errorf("an unknown version has the answer %v", err)
	}
}
