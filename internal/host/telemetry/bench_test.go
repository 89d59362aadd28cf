package telemetry_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

type fixedNames struct{}

func (fixedNames) NamesOfRoute(id int64) *task.Route {
	return &task.Route{ID: id, Namespace: "default", Handler: "mail"}
}

func (fixedNames) NamesOfTemplate(def int64) *task.Template {
	return task.Adhoc("default", "mail")
}

// BenchmarkCommitted measures observing a task of one step, in transactions of 256. It must stay below 200 ns, one
// percent of the least cost of a task.
func BenchmarkCommitted(b *testing.B) {
	tel, err := telemetry.New(b.Context(), telemetry.Options{})
	if err != nil {
		b.Fatal(err)
	}
	const batch = 256
	submit := &engine.Commit{Verb: "submit", At: noon, Took: time.Millisecond, Names: fixedNames{}}
	settle := &engine.Commit{Verb: "settle", At: noon, Took: time.Millisecond, Names: fixedNames{}}
	for i := range batch {
		submit.Submitted = append(submit.Submitted, 1)
		submit.Handed = append(submit.Handed, engine.Handed{RouteID: 1,
			ReadyAt: noon.Add(-time.Duration(i) * time.Millisecond)})
		submit.Started = append(submit.Started, engine.Started{RouteID: 1, AssignedAt: noon})
		settle.Ended = append(settle.Ended, engine.Ended{RouteID: 1, Outcome: task.Completed, After: task.StepComplete,
			StartedAt: noon.Add(-time.Duration(i) * time.Millisecond)})
		settle.Settled = append(settle.Settled, engine.Settled{DefID: 1, State: task.Complete,
			CreatedAt: noon.Add(-time.Duration(i) * time.Second)})
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		tel.Committed(submit)
		tel.Committed(settle)
	}
}
