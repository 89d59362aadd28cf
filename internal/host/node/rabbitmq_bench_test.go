package node_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/worker/protocol"
)

type expiries struct {
	mu    sync.Mutex
	after []time.Duration
}

func (*expiries) Published(string, int)  {}
func (*expiries) Expired(string, int)    {}
func (*expiries) Depth(int)              {}
func (*expiries) Connected(string, bool) {}
func (e *expiries) Handled(after time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.after = append(e.after, after)
}

func (e *expiries) get() []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]time.Duration(nil), e.after...)
}

// BenchmarkExpiry expires 1,000 steps at the same time on PostgreSQL, and reports the time from expiry to the
// commit of the failures. The TTL covers their publication.
func BenchmarkExpiry(b *testing.B) {
	const steps = 1000
	seen := &expiries{}
	n := rabbitNode(b, pgtest.DSN(b), rabbittest.Shared(b), settings.Config{
		Delivery: settings.Delivery{TTL: 3 * time.Second, OnExpiry: settings.ExpiryFail},
		// Otherwise an idle worker would get nothing more.
		WorkerBreaker: settings.WorkerBreaker{Failures: -1},
		WorkerHealth: task.HealthRule{DegradedFailures: 1 << 30, UnhealthyFailures: 1 << 30, DegradedDepth: 1 << 30,
			UnhealthyDepth: 1 << 30, MinEnded: 1 << 30}}, seen)
	if _, err := n.RegisterWorker(b.Context(), protocol.WorkerRegistration{Handlers: []string{"idle"}, Capacity: steps,
		Transport: "amqp"}); err != nil {
		b.Fatal(err)
	}
	for range b.N {
		before := len(seen.get())
		submit(b, n, "idle", steps)
		patiently(b, "all have expired", func() bool { return len(seen.get()) >= before+steps })
	}
	times := seen.get()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Milliseconds()), "p99-ms")
}
