package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// BenchmarkHeavyDependants completes a step with 900 dependants whose conditions or limit keys read a context of
// 250 kB. It reports the time of the result, of the slowest result of another task meanwhile, and until all
// dependants are ready.
func BenchmarkHeavyDependants(b *testing.B) {
	const dependants = 900
	when := strings.TrimSuffix(strings.Repeat("context.x in context.l||", 20), "||")
	kinds := map[string]string{
		"Conditions": fmt.Sprintf(", when: '!(%s)'", when),
		"Keys":       `, concurrency: {limit: 1000, key: "{{x}}"}`,
	}
	context250kB := `{"x":2,"l":[` + strings.TrimSuffix(strings.Repeat("1,", 125_000), ",") + `]}`
	for kind, of := range kinds {
		for name, dsn := range map[string]func(testing.TB) string{
			"SQLite":     func(t testing.TB) string { return "sqlite:" + sqlitetest.File(t) },
			"PostgreSQL": postgrestest.DSN,
		} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				n, err := node.Open(b.Context(), dsn(b), node.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer n.Close()
				ctx, stop := context.WithCancel(b.Context())
				ended := make(chan error, 1)
				go func() { ended <- n.Run(ctx) }()
				defer func() {
					stop()
					if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
						b.Error(err)
					}
				}()
				var src strings.Builder
				src.WriteString("name: heavy\nversion: \"1\"\nsteps:\n  - {name: a, handler: first}\n")
				for i := range dependants {
					fmt.Fprintf(&src, "  - {name: s%d, handler: later, dependencies: [a]%s}\n", i, of)
				}
				if _, err := n.RegisterTemplate(b.Context(), tasker.TemplateSource{YAML: src.String()}); err != nil {
					b.Fatal(err)
				}
				for range b.N {
					heavyDependants(b, n, context250kB, dependants)
				}
			})
		}
	}
}

func heavyDependants(b *testing.B, n *node.Node, input string, dependants int) {
	b.Helper()
	requests := []tasker.TaskRequest{{Name: "heavy", Context: json.RawMessage(input)}}
	for range 500 {
		requests = append(requests, tasker.TaskRequest{TaskType: "other"})
	}
	if _, err := n.SubmitTasks(b.Context(), tasker.SubmitRequest{Tasks: requests}); err != nil {
		b.Fatal(err)
	}
	take := func(handler string, capacity int) (uuid.UUID, []protocol.Assignment) {
		w, err := n.RegisterWorker(b.Context(), protocol.WorkerRegistration{Name: handler, Handlers: []string{handler},
			Capacity: capacity})
		if err != nil {
			b.Fatal(err)
		}
		polled, err := n.Poll(b.Context(), protocol.PollRequest{WorkerID: w.WorkerID, Start: true, Capacity: capacity})
		if err != nil || len(polled.Steps) == 0 {
			b.Fatal(err, len(polled.Steps))
		}
		return w.WorkerID, polled.Steps
	}
	settle := func(worker uuid.UUID, s protocol.Assignment) time.Duration {
		began := time.Now()
		if _, err := n.Settle(b.Context(), protocol.SettleRequest{WorkerID: worker, Results: []protocol.StepResult{{
			StepUUID: s.StepUUID, Token: s.Token, Status: protocol.ResultCompleted}}}); err != nil {
			b.Error(err)
		}
		return time.Since(began)
	}
	heavy, first := take("first", 1)
	other, rest := take("other", 500)
	began := time.Now()
	own := make(chan time.Duration, 1)
	go func() { own <- settle(heavy, first[0]) }()
	var slowest time.Duration
	ready := func() (of int) {
		steps, err := n.Steps(b.Context(), first[0].TaskUUID)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range steps {
			if s.State == tasker.StepEnqueued {
				of++
			}
		}
		return of
	}
	for i := 0; i%10 > 0 || ready() < dependants; i++ {
		if i < len(rest) {
			slowest = max(slowest, settle(other, rest[i]))
		}
		time.Sleep(20 * time.Millisecond) // the results last as long as the conditions
	}
	b.ReportMetric(float64((<-own).Milliseconds()), "own-ms")
	b.ReportMetric(float64(slowest.Milliseconds()), "other-ms")
	b.ReportMetric(time.Since(began).Seconds(), "ready-s")
}
