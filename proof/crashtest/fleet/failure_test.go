//go:build unix

package fleet_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// shortTTL finds a lost message soon.
var shortTTL = []string{"TASKER_MESSAGE_QUEUE_RABBITMQ_WORKER_QUEUE_TTL_MS=3000"}

// program starts `tasker worker`, and kills it when the test ends.
func (w *world) program(args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := w.group.Command(w.server.Program, append([]string{"worker", "--server", w.server.URL()}, args...)...)
	cmd.Stderr = w.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = cmd.Wait()
	})
	return cmd
}

// TestExpiry: the worker is frozen, a task is submitted, and after the time to live of its message it has failed with
// "Worker queue TTL expired". The worker is registered and consumes; RabbitMQ drops it after two missed heartbeats,
// returns the message to its queue, and finds it expired.
func TestExpiry(t *testing.T) {
	env := []string{"TASKER_MESSAGE_QUEUE_RABBITMQ_WORKER_QUEUE_TTL_MS=2000",
		"TASKER_MESSAGE_QUEUE_RABBITMQ_ON_EXPIRY=fail",
		// Otherwise the silent worker would be dead first, and its steps released.
		"TASKER_ENGINE_LEASES_MISSED_HEARTBEATS=200",
		// The message must expire before the lease.
		"TASKER_ENGINE_LEASES_START_TIMEOUT=1m"}
	onEveryStore(t, env, func(w *world) {
		frozen := w.program("--name", "frozen", "--handler", "h=cat", "--transport", w.broker+"?heartbeat=1")
		w.registered("frozen", protocol.WorkerActive)
		w.consumes("h")
		if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		id := w.submit("h", 1)[0]
		w.expired(id)
		if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		w.consumes("h")
	})
}

// TestExpiryWithoutMessage is TestExpiry without the message, or RabbitMQ: the end of the lease has the same result.
func TestExpiryWithoutMessage(t *testing.T) {
	env := []string{"TASKER_MESSAGE_QUEUE_RABBITMQ_WORKER_QUEUE_TTL_MS=2000",
		"TASKER_MESSAGE_QUEUE_RABBITMQ_ON_EXPIRY=fail", "TASKER_ENGINE_LEASES_MISSED_HEARTBEATS=200"}
	onEveryStore(t, env, func(w *world) {
		frozen := w.program("--name", "frozen", "--handler", "h=cat", "--transport", w.broker)
		w.registered("frozen", protocol.WorkerActive)
		w.consumes("h")
		if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		w.expired(w.submit("h", 1)[0])
	})
}

// consumes waits until the worker of a handler takes messages. On a slow machine the first ones may expire before.
func (w *world) consumes(handler string) {
	w.t.Helper()
	w.until("the worker consumes", func() bool {
		got, err := w.Wait(w.ctx, w.submit(handler, 1)[0])
		return err == nil && got.State == tasker.TaskComplete
	})
}

// expired waits for the failure by an expired message, and checks what operators see.
func (w *world) expired(id uuid.UUID) {
	w.t.Helper()
	w.until("the task is in error", func() bool {
		got, err := w.Task(w.ctx, id, 0)
		return err == nil && got.State == tasker.TaskError
	})
	steps, err := w.Steps(w.ctx, id)
	if err != nil || len(steps) != 1 || steps[0].LastError == nil ||
		steps[0].LastError.Message != "Worker queue TTL expired" ||
		!strings.Contains(string(steps[0].LastError.Details), "frozen") {
		w.t.Errorf("the step is %+v, %v; want a failure that names the worker", steps, err)
	}
	explain := exec.CommandContext(w.ctx, w.server.Program, "explain", id.String())
	explain.Env = append(os.Environ(), "TASKER_SERVER="+w.server.URL())
	out, err := explain.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Worker queue TTL expired") {
		w.t.Errorf("tasker explain: %v\n%s", err, out)
	}
}

// TestWorkerKilled: a killed worker's steps run at another, and its queue goes when its messages have expired.
func TestWorkerKilled(t *testing.T) {
	onEveryStore(t, shortTTL, func(w *world) {
		killed := w.program("--name", "killed", "--handler", "h=sleep 600", "--concurrency", "2", "--transport", w.broker)
		info := w.registered("killed", protocol.WorkerActive)
		ids := w.submit("h", 4)
		w.until("it runs two steps", func() bool {
			one, err := protocol.Of(w.Client).Worker(w.ctx, info.WorkerID)
			return err == nil && one.CurrentLoad == 2
		})
		if err := killed.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		e := newEcho()
		heir := w.work("heir", w.broker, 2, map[string]worker.Handler{"h": e.handle})
		w.complete(ids)
		heir.end()
		w.until("its queue is gone", func() bool {
			return !strings.Contains(string(rabbittest.Manage(t, w.broker, http.MethodGet, "/api/queues/{vhost}", nil)),
				info.WorkerID.String())
		})
	})
}

// disturbed runs tasks during a disturbance, and checks that each completes, and none ran twice if once.
func disturbed(w *world, once bool, disturb func()) {
	e := newEcho()
	worker := w.work("amqp", w.broker, 8, map[string]worker.Handler{"h": e.handle})
	ids := w.submit("h", 100)
	disturb()
	ids = append(ids, w.submit("h", 100)...)
	w.complete(ids)
	worker.end()
	if tasks, runs := e.total(); tasks != len(ids) || once && runs != len(ids) {
		w.t.Errorf("%d of %d tasks ran, %d times", tasks, len(ids), runs)
	}
}

// TestServerKilled: the worker and its deliveries wait for the server. A step that was assigned but not published is
// found after its time to live.
func TestServerKilled(t *testing.T) {
	onEveryStore(t, shortTTL, func(w *world) {
		disturbed(w, false, func() {
			w.server.Kill()
			w.server.Gone()
			if err := w.server.Start(w.ctx); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestConnectionsCut: messages come again, and no step runs twice for it. A step that the server lost is found after
// its time to live.
func TestConnectionsCut(t *testing.T) {
	onEveryStore(t, shortTTL, func(w *world) {
		disturbed(w, true, func() {
			var all []struct {
				Name string `json:"name"`
			}
			w.until("RabbitMQ tells of its connections", func() bool {
				raw := rabbittest.Manage(t, w.broker, http.MethodGet, "/api/vhosts/{vhost}/connections", nil)
				if err := json.Unmarshal(raw, &all); err != nil {
					t.Fatal(err)
				}
				return len(all) >= 2 // the worker's and the server's
			})
			for _, c := range all {
				rabbittest.Manage(t, w.broker, http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil)
			}
		})
	})
}

// TestBrokerKilled: messages that the broker forgot or repeats change nothing. A step without a confirm is found after
// its time to live.
func TestBrokerKilled(t *testing.T) {
	t.Parallel()
	var broker *rabbittest.Server
	start := func(t testing.TB) string {
		broker = rabbittest.Start(t)
		return broker.URL()
	}
	onEveryStoreAt(t, start, shortTTL, func(w *world) {
		disturbed(w, true, func() {
			if err := broker.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := broker.Restart(); err != nil {
				t.Fatal(err)
			}
		})
	})
}
