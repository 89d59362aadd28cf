package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	_ "github.com/taskerhq/tasker/embedded/postgres" // of the options DB and Dispatch
	_ "github.com/taskerhq/tasker/embedded/redis"
	"github.com/taskerhq/tasker/rabbitmq"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Handler is the handler of the tasks.
const Handler = "bench"

// Tasker is a System: the engine in this process, or servers.
type Tasker struct {
	opts    Options
	nodes   []*peer
	ledger  *ledger // nil: none
	settled atomic.Int64
	refused atomic.Int64
}

var _ System = (*Tasker)(nil)

// peer is a server, or the engine in this process.
type peer struct {
	*server // nil in process
	client  *tasker.Client
}

// Open starts the nodes. Close the result.
func Open(ctx context.Context, opts Options) (*Tasker, error) {
	opts = opts.withDefaults()
	switch {
	case opts.DB == "":
		return nil, fmt.Errorf("name a database to measure on")
	case opts.Via == ViaHTTP && opts.Executable == "":
		return nil, fmt.Errorf("via http needs the executable that serves")
	}
	t := &Tasker{opts: opts}
	if opts.Nodes > 1 {
		t.ledger = newLedger()
	}
	for range opts.Nodes {
		n, err := t.open(ctx)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.nodes = append(t.nodes, n)
	}
	return t, nil
}

func (t *Tasker) open(ctx context.Context) (*peer, error) {
	if t.opts.Via == InProcess {
		client, err := embedded.Open(ctx, t.opts.DB, &embedded.Options{Dispatch: t.opts.Dispatch})
		if err != nil {
			return nil, err
		}
		return &peer{client: t.watch(client)}, nil
	}
	s, err := serve(ctx, t.opts)
	if err != nil {
		return nil, err
	}
	client, err := remote.Dial(s.url, nil)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return &peer{s, t.watch(client)}, nil
}

// Close stops the servers or the engine. Stop the workers first.
func (t *Tasker) Close() error {
	var errs []error
	for _, n := range t.nodes {
		errs = append(errs, n.client.Close())
		if n.server != nil {
			errs = append(errs, n.stop())
		}
	}
	t.nodes = nil
	return errors.Join(errs...)
}

// Client returns the first node's client.
func (t *Tasker) Client() *tasker.Client { return t.nodes[0].client }

// URLs returns the servers' URLs; none in process.
func (t *Tasker) URLs() []string {
	var urls []string
	for _, n := range t.nodes {
		if n.server != nil {
			urls = append(urls, n.url)
		}
	}
	return urls
}

// Reopen closes everything, opens one node, and returns how long that took.
func (t *Tasker) Reopen(ctx context.Context) (time.Duration, error) {
	if err := t.Close(); err != nil {
		return 0, err
	}
	begin := time.Now()
	n, err := t.open(ctx)
	if err != nil {
		return 0, err
	}
	t.nodes = []*peer{n}
	return time.Since(begin), nil
}

// Submit implements System. It spreads callers over the nodes.
func (t *Tasker) Submit(ctx context.Context, caller int, body json.RawMessage) error {
	receipt, err := t.nodes[caller%len(t.nodes)].client.Submit(ctx, tasker.TaskRequest{TaskType: Handler, Context: body})
	if err == nil && t.ledger != nil {
		t.ledger.submitted(receipt.TaskUUID)
	}
	return err
}

// SubmitMany implements System, on the first node.
func (t *Tasker) SubmitMany(ctx context.Context, n int, body json.RawMessage) error {
	req := tasker.SubmitRequest{Tasks: make([]tasker.TaskRequest, n)}
	for i := range req.Tasks {
		req.Tasks[i] = tasker.TaskRequest{TaskType: Handler, Context: body}
	}
	receipts, err := t.nodes[0].client.SubmitTasks(ctx, req)
	if err != nil {
		return err
	}
	for _, r := range receipts {
		if r.Error != nil {
			return r.Error
		}
		if t.ledger != nil {
			t.ledger.submitted(r.TaskUUID)
		}
	}
	return nil
}

// Work implements System.
func (t *Tasker) Work(ctx context.Context, n int, handle func()) (func() error, error) {
	return t.WorkOn(ctx, Handler, n, handle), nil
}

// WorkOn runs a worker for one handler on every node, which share n. stop drains them and returns their errors; it
// may be called repeatedly.
func (t *Tasker) WorkOn(ctx context.Context, handler string, n int, handle func()) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(t.nodes))
	for i, node := range t.nodes {
		share := n / len(t.nodes)
		if i < n%len(t.nodes) {
			share++
		}
		opts := &worker.Options{Name: fmt.Sprintf("bench-%d", i), Namespaces: []string{protocol.AllNamespaces},
			Concurrency: share, Quiet: true}
		if t.opts.Transport != "" {
			opts.Transport = rabbitmq.NewTransport(t.opts.Transport, rabbitmq.Options{})
		}
		w := worker.New(node.client, opts)
		w.Handle(handler, func(context.Context, *worker.Job) (any, error) {
			handle()
			return nil, nil
		})
		go func() { ended <- w.Run(ctx) }()
	}
	return sync.OnceValue(func() error {
		cancel()
		var errs []error
		for range t.nodes {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	})
}

// Settled implements System.
func (t *Tasker) Settled() int64 { return t.settled.Load() }

// check reports impossible events: a refused result of a live worker, a claim handed out twice, a lost task.
func (t *Tasker) check() (*LedgerReport, error) {
	if refused := t.refused.Load(); refused > 0 {
		return nil, fmt.Errorf("%d results were refused", refused)
	}
	if t.ledger == nil {
		return nil, nil
	}
	return t.ledger.check()
}

// PIDs returns the measured processes.
func (t *Tasker) PIDs() []int {
	pids := []int{os.Getpid()}
	for _, n := range t.nodes {
		if n.server != nil {
			pids = append(pids, n.cmd.Process.Pid)
		}
	}
	return pids
}

// watched is an observed Backend.
type watched struct {
	protocol.Backend
	t *Tasker
}

func (t *Tasker) watch(c *tasker.Client) *tasker.Client {
	return tasker.NewClient(&watched{protocol.Of(c), t})
}

// Poll implements protocol.WorkerBackend. It notes the leases for the ledger.
func (w *watched) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	resp, err := w.Backend.Poll(ctx, req)
	if err == nil && w.t.ledger != nil {
		w.t.ledger.claimed(resp.Steps)
	}
	return resp, err
}

// Settle implements protocol.WorkerBackend. It counts what was acknowledged, which is what the phases wait for.
func (w *watched) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	answers, err := w.Backend.Settle(ctx, req)
	var done, refused int64
	for _, a := range answers {
		switch {
		case a.Error != nil:
			refused++
		case a.State == tasker.StepComplete:
			done++
		}
	}
	if w.t.ledger != nil {
		w.t.ledger.settled(answers)
	}
	w.t.settled.Add(done)
	w.t.refused.Add(refused)
	return answers, err
}
