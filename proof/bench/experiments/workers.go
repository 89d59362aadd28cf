package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// WorkersReport is the result of workers mode: the cost of many idle workers, and whether a claim on one of many routes
// depends on the other queues.
type WorkersReport struct {
	Sets int         `json:"capability_sets"`
	Idle *IdleReport `json:"idle"`
	// Claims from the route of one capability set, by steps a call, with empty other queues, and with Queued steps
	// there.
	Claims []SetClaims `json:"claims"`
	Queued int         `json:"queued_on_other_sets"`
}

// IdleReport is the cost of workers whose polls return nothing.
type IdleReport struct {
	RegisterS  float64 `json:"register_s"` // until all were registered and polled
	WindowS    float64 `json:"window_s"`
	Polls      int64   `json:"polls"`      // answered in the window
	Heartbeats int64   `json:"heartbeats"` // likewise
	// Cores is the CPU time of all processes, including workers, divided by the window; Servers that of servers and
	// database alone, if separate processes.
	Cores   float64  `json:"cores"`
	Servers *float64 `json:"server_cores,omitempty"`
}

// SetClaims compares claims of so many steps a call.
type SetClaims struct {
	Batch int        `json:"batch"`
	Alone *ClaimCost `json:"others_empty"`
	Among *ClaimCost `json:"others_queued"`
	// Ratio of the best rounds, the latter to the former: other work of the machine disturbs those least.
	Ratio float64 `json:"ratio"`
}

// ClaimCost is the cost of a claiming call.
type ClaimCost struct {
	P50US  float64 `json:"p50_us"`      // the median round's
	BestUS float64 `json:"best_p50_us"` // the fastest round's
	CPUUS  float64 `json:"cpu_us"`      // of all participants, the mean of all rounds
}

const (
	capabilitySets = 100
	// rampUp bounds the start of all workers.
	rampUp = 5 * time.Minute
)

// workers measures both, the idle workers first: there must be no work for them.
func (r *run) workers(ctx context.Context) error {
	w := &WorkersReport{Sets: capabilitySets}
	r.report.Fleet = w
	if err := r.makeSets(ctx); err != nil {
		return fmt.Errorf("make the routes: %w", err)
	}
	var err error
	if w.Idle, err = r.idleWorkers(ctx); err != nil {
		return fmt.Errorf("idle workers: %w", err)
	}
	if err := r.setClaims(ctx, w); err != nil {
		return fmt.Errorf("claims of one set: %w", err)
	}
	return nil
}

func setName(i int) string { return fmt.Sprintf("set-%02d", i) }

// makeSets carries out a step of each capability set, so that workers have routes to wait on.
func (r *run) makeSets(ctx context.Context) error {
	for i := range capabilitySets {
		if err := r.queueOn(ctx, i, 1); err != nil {
			return err
		}
		if _, _, err := r.claimSet(ctx, i, 1, 1); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) queueOn(ctx context.Context, set, n int) error {
	one := tasker.TaskRequest{TaskType: bench.Handler, Context: bench.Payload(r.opts.PayloadBytes),
		RequiredCapabilities: []string{setName(set)}}
	for n > 0 {
		req := tasker.SubmitRequest{Tasks: make([]tasker.TaskRequest, min(n, bench.BulkSize))}
		for i := range req.Tasks {
			req.Tasks[i] = one
		}
		if _, err := r.client().SubmitTasks(ctx, req); err != nil {
			return err
		}
		n -= len(req.Tasks)
	}
	return nil
}

type fleet struct {
	polls, begun, beats atomic.Int64
	failed              atomic.Pointer[error] // the first call that failed, or brought steps
}

func (f *fleet) note(err error) { f.failed.CompareAndSwap(nil, &err) }

// counted counts the requests of idle workers.
type counted struct {
	protocol.Backend
	f *fleet
}

func (c counted) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	c.f.begun.Add(1)
	resp, err := c.Backend.Poll(ctx, req)
	if err == nil {
		c.f.polls.Add(1)
		if n := len(resp.Steps); n > 0 {
			c.f.note(fmt.Errorf("a poll brought %d steps", n))
		}
	} else if ctx.Err() == nil {
		c.f.note(err)
	}
	return resp, err
}

func (c counted) Heartbeat(ctx context.Context, beat protocol.Heartbeat) (*protocol.HeartbeatResponse, error) {
	resp, err := c.Backend.Heartbeat(ctx, beat)
	if err == nil {
		c.f.beats.Add(1)
	} else if ctx.Err() == nil {
		c.f.note(err)
	}
	return resp, err
}

// idleWorkers runs workers of the SDK, each with one slot and thus one long poll, and measures all processes.
func (r *run) idleWorkers(ctx context.Context) (_ *IdleReport, err error) {
	f := &fleet{}
	backends, end, err := r.fleetBackends()
	if err != nil {
		return nil, err
	}
	defer end()
	servers, err := bench.Watch(ctx, r.opts.DB, r.tasker.PIDs()[1:])
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, r.opts.Workers)
	begin := time.Now()
	for i := range r.opts.Workers {
		w := worker.New(tasker.NewClient(counted{backends[i%len(backends)], f}), &worker.Options{
			Name: fmt.Sprintf("bench-%d", i), Concurrency: 1, Capabilities: []string{setName(i % capabilitySets)},
			Logger: slog.New(slog.DiscardHandler)})
		w.Handle(bench.Handler, func(context.Context, *worker.Job) (any, error) { return nil, nil })
		go func() { ended <- w.Run(working) }()
	}
	defer func() {
		stop()
		for range r.opts.Workers {
			err = errors.Join(err, <-ended)
		}
	}()
	if err := f.await(ctx, int64(r.opts.Workers)); err != nil {
		return nil, err
	}
	report := &IdleReport{RegisterS: bench.Round3(time.Since(begin).Seconds()), WindowS: r.opts.window.Seconds()}
	if err := r.watchIdle(ctx, f, servers, report); err != nil {
		return nil, err
	}
	if failed := f.failed.Load(); failed != nil {
		return nil, *failed
	}
	return report, nil
}

func (f *fleet) await(ctx context.Context, polls int64) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(rampUp)
	for f.begun.Load() < polls {
		select {
		case <-tick.C:
		case <-limit:
			return fmt.Errorf("only %d polls began within %s", f.begun.Load(), rampUp)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (r *run) watchIdle(ctx context.Context, f *fleet, servers *bench.Meter, report *IdleReport) error {
	all, err := r.load.Meter.CPU()
	if err != nil {
		return err
	}
	theirs, err := servers.CPU()
	if err != nil {
		return err
	}
	polls, beats, begin := f.polls.Load(), f.beats.Load(), time.Now()
	select {
	case <-time.After(r.opts.window):
	case <-ctx.Done():
		return ctx.Err()
	}
	took := time.Since(begin).Seconds()
	report.Polls, report.Heartbeats = f.polls.Load()-polls, f.beats.Load()-beats
	allNow, err := r.load.Meter.CPU()
	if err != nil {
		return err
	}
	theirsNow, err := servers.CPU()
	if err != nil {
		return err
	}
	report.Cores = bench.Round3((allNow - all).Seconds() / took)
	if r.opts.Via == bench.ViaHTTP {
		cores := bench.Round3((theirsNow - theirs).Seconds() / took)
		report.Servers = &cores
	}
	return nil
}

// fleetBackends returns a backend for each node. Over HTTP it keeps a connection
// for each of its workers, as they would themselves.
func (r *run) fleetBackends() (backends []protocol.Backend, end func(), err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: r.opts.Workers}
	end = transport.CloseIdleConnections
	urls := r.tasker.URLs()
	if len(urls) == 0 {
		return []protocol.Backend{protocol.Of(r.client())}, end, nil
	}
	for _, url := range urls {
		client, err := remote.Dial(url, &remote.Options{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			return nil, end, err
		}
		backends = append(backends, protocol.Of(client))
	}
	return backends, end, nil
}
