package rabbitmq_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/broker/dispatch/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine is an engine with steps for several nodes.
type fakeEngine struct {
	mu       sync.Mutex
	workers  []dispatch.Worker
	ready    []uuid.UUID
	held     map[task.ID]map[string]held // leases in force, by worker: step and token
	most     map[task.ID]int             // the most that a worker ever held
	failed   []protocol.LeaseRef
	late     int
	back     int
	letters  []driver.Message
	tokens   int
	ttl      time.Duration
	lease    time.Duration // of a silent worker; 0: without end
	down     bool          // the database does not answer
	poison   string
	expiries int // calls of Expire
	order    []string
}

type held struct {
	step uuid.UUID
	from time.Time
}

func newFake() *fakeEngine {
	return &fakeEngine{held: map[task.ID]map[string]held{}, most: map[task.ID]int{}, ttl: time.Minute}
}

func (e *fakeEngine) worker(capacity int) task.ID {
	e.mu.Lock()
	defer e.mu.Unlock()
	id := task.ID(uuid.New())
	w := &task.Worker{No: int64(len(e.workers) + 1), ID: id, Name: fmt.Sprint("worker ", len(e.workers)+1),
		State: task.WorkerActive, Capacity: capacity, Transport: task.TransportAMQP, LastHeartbeat: task.At(time.Now())}
	e.workers = append(e.workers, dispatch.Worker{Worker: w, Routes: "all"})
	e.held[id] = map[string]held{}
	return id
}

func (e *fakeEngine) set(id task.ID, change func(*task.Worker)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, w := range e.workers {
		if w.ID == id {
			changed := *w.Worker
			change(&changed)
			e.workers[i].Worker = &changed
		}
	}
}

func (e *fakeEngine) submit(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for range n {
		e.ready = append(e.ready, uuid.New())
	}
}

func (e *fakeEngine) fail(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

// finish ends a lease, as a worker that has settled it. It reports whether the lease was in force.
func (e *fakeEngine) finish(id task.ID, lease protocol.LeaseRef) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := lease.StepUUID.String() + lease.Token
	_, was := e.held[id][key]
	delete(e.held[id], key)
	return was
}

func (e *fakeEngine) get(read func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	read()
}

var errDown = task.Errorf(task.Unavailable, "the database is down")

func (e *fakeEngine) Fleet(context.Context) ([]dispatch.Worker, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return nil, errDown
	}
	for i, w := range e.workers {
		if w.State == task.WorkerActive {
			alive := *w.Worker
			alive.LastHeartbeat = task.At(time.Now())
			e.workers[i].Worker, e.workers[i].Facts.LastHeartbeat = &alive, alive.LastHeartbeat
		}
	}
	return slices.Clone(e.workers), nil
}

func (e *fakeEngine) Held(w *dispatch.Worker) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.held[w.ID])
}

func (e *fakeEngine) Dispatch(ctx context.Context, id task.ID, n int, wait time.Duration) ([]dispatch.Dispatch, bool,
	error,
) {
	for end := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
		steps, leaving, err := e.take(id, n)
		if len(steps) > 0 || leaving || err != nil || time.Now().After(end) || ctx.Err() != nil {
			return steps, leaving, err
		}
	}
}

func (e *fakeEngine) take(id task.ID, n int) (out []dispatch.Dispatch, leaving bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return nil, false, errDown
	}
	i := slices.IndexFunc(e.workers, func(w dispatch.Worker) bool { return w.ID == id })
	if i < 0 {
		return nil, false, task.Errorf(task.NotFound, "no worker")
	}
	w := e.workers[i].Worker
	if w.State.Leaving() {
		return nil, true, nil
	}
	e.endLeases(id)
	for len(out) < n && len(e.ready) > 0 && len(e.held[id]) < w.Capacity {
		e.tokens++
		step := e.ready[0]
		e.ready = e.ready[1:]
		a := protocol.Assignment{StepUUID: step, TaskUUID: step, Token: fmt.Sprint("t", e.tokens), Namespace: "default",
			Attempt: 1, Parameters: []byte(`{"n":1}`)}
		e.held[id][step.String()+a.Token] = held{step: step, from: time.Now()}
		e.most[id] = max(e.most[id], len(e.held[id]))
		out = append(out, dispatch.Dispatch{Assignment: a, TTL: e.ttl})
	}
	return out, false, nil
}

// endLeases makes steps with old leases ready again. The caller holds mu.
func (e *fakeEngine) endLeases(id task.ID) {
	if e.lease == 0 {
		return
	}
	for key, h := range e.held[id] {
		if time.Since(h.from) > e.lease {
			delete(e.held[id], key)
			e.ready = append(e.ready, h.step)
		}
	}
}

func (e *fakeEngine) GiveBack(_ context.Context, id task.ID, leases []protocol.LeaseRef) error {
	for _, l := range leases {
		if e.finish(id, l) {
			e.get(func() { e.ready = append(e.ready, l.StepUUID); e.back++ })
		}
	}
	return nil
}

func (e *fakeEngine) Expire(_ context.Context, dead []dispatch.Expired) ([]dispatch.Verdict, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expiries++
	if e.down {
		return nil, errDown
	}
	out := make([]dispatch.Verdict, len(dead))
	for i, x := range dead {
		leases, known := e.held[x.Worker]
		key := x.Lease.StepUUID.String() + x.Lease.Token
		_, leased := leases[key]
		switch {
		case x.Lease.Token == "invalid":
			return nil, task.Errorf(task.Invalid, "an invalid token")
		case !known:
			out[i] = dispatch.Unknown
		case leased:
			delete(leases, key)
			e.failed = append(e.failed, x.Lease)
			e.order = append(e.order, x.Lease.StepUUID.String())
			out[i] = dispatch.Failed
		default:
			e.late++
			out[i] = dispatch.Late
		}
	}
	return out, nil
}

func (e *fakeEngine) Capture(_ context.Context, messages []driver.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return errDown
	}
	for _, m := range messages {
		if e.poison != "" && string(m.Payload) == e.poison {
			return task.Errorf(task.Exhausted, "no room for it")
		}
	}
	e.letters = append(e.letters, messages...)
	return nil
}

type observer struct {
	mu      sync.Mutex
	counts  map[string]int
	handled []time.Duration
}

func (o *observer) add(name string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]int{}
	}
	o.counts[name] += n
}

func (o *observer) get(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[name]
}

func (o *observer) Published(result string, n int) { o.add(result, n) }
func (o *observer) Expired(result string, n int)   { o.add(result, n) }
func (o *observer) Depth(n int)                    { o.add("depth", n) }
func (o *observer) Connected(part string, up bool) { o.add(fmt.Sprint(part, up), 1) }
func (o *observer) Handled(after time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handled = append(o.handled, after)
}

type rig struct {
	t      *testing.T
	url    string
	engine *fakeEngine
	opts   rabbitmq.Options
	seen   *observer
}

func newRig(t *testing.T, url string) *rig {
	t.Helper()
	r := &rig{t: t, url: url, engine: newFake(), seen: &observer{}}
	r.opts = rabbitmq.Options{
		Dial:  dialer(url),
		Queue: func(id task.ID) string { return task.DeliveryQueue("worker.", id) },
		Topology: rabbitmq.Topology{TTL: time.Hour, DeadLetters: true, Exchange: "tasker.dlx",
			DeadQueue: "tasker.dlx.queue", Retention: time.Hour},
		Refresh: 50 * time.Millisecond, MaxPause: 200 * time.Millisecond, Observer: r.seen,
	}
	return r
}

func dialer(url string) func(context.Context, string) (*amqp.Conn, error) {
	return func(ctx context.Context, name string) (*amqp.Conn, error) {
		target, err := amqp.Parse(url)
		if err != nil {
			return nil, err
		}
		return target.Dial(ctx, name)
	}
}

func (r *rig) start() (d *rabbitmq.Dispatcher, stop func()) {
	r.t.Helper()
	d = rabbitmq.New(r.engine, r.opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	r.t.Cleanup(stop)
	return d, stop
}

func (r *rig) channel() *amqp091.Channel {
	r.t.Helper()
	conn, err := dialer(r.url)(r.t.Context(), "a test")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		r.t.Fatal(err)
	}
	return ch
}

// depth returns -1 for a missing queue.
func (r *rig) depth(queue string) int {
	r.t.Helper()
	conn, err := dialer(r.url)(r.t.Context(), "a test")
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ch, err := conn.Channel()
	if err != nil {
		r.t.Fatal(err)
	}
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		return -1
	}
	return q.Messages
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
