package siege

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/worker/protocol"
)

// ghost is a worker whose requests stall, and arrive long after its leases have passed to others.
type ghost struct {
	name    string
	rng     *rand.Rand
	backend protocol.Backend // with a recorder, over the link
	link    *cluster.Link    // to a node
	retry   load.Retry
	journal *crashtest.Journal
	notes   *notes

	me      uuid.UUID
	refused atomic.Int64 // late reports that were refused
}

// stallLimit bounds the stall of a report: perhaps no other worker takes its steps, such as after an act by hand.
const stallLimit = 10 * time.Second

// run haunts until stop is closed. It restores the link after each turn, which may leave it held. It retries after a
// lost answer; every other error ends the run.
func (g *ghost) run(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return g.link.Restore(ctx)
		default:
		}
		err := g.turn(ctx, stop)
		if err = errors.Join(err, g.link.Restore(ctx)); err != nil && !load.Lost(err) {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		if err != nil {
			if err := g.retry(ctx, err); err != nil {
				return err
			}
		}
	}
}

// turn stalls one answer (a third of the turns) or one report. It registers the ghost first, until that succeeds.
func (g *ghost) turn(ctx context.Context, stop <-chan struct{}) error {
	if g.me == uuid.Nil {
		w, err := g.backend.RegisterWorker(ctx, protocol.WorkerRegistration{Name: g.name,
			Namespaces: []string{protocol.AllNamespaces}, Handlers: load.Names()})
		if err != nil {
			return err
		}
		g.me = w.WorkerID
	}
	if g.rng.IntN(3) == 0 {
		return g.lateHandout(ctx, stop)
	}
	resp, err := g.poll(ctx)
	if err != nil || len(resp.Steps) == 0 {
		return err
	}
	return g.lateReport(ctx, stop, resp.Steps)
}

// poll asks for one to three steps, and waits up to a second for them. The steps start with the poll.
func (g *ghost) poll(ctx context.Context) (*protocol.PollResponse, error) {
	return g.backend.Poll(ctx,
		protocol.PollRequest{WorkerID: g.me, Capacity: 1 + g.rng.IntN(3), WaitMS: 1000, Start: true})
}

// lateHandout gets steps when their leases may be over, and reports them. The checker judges the timing.
func (g *ghost) lateHandout(ctx context.Context, stop <-chan struct{}) error {
	if err := g.link.Hold(cluster.Down); err != nil {
		return err
	}
	// An answer stalls for less than a lease, or for more.
	stalled, cancel := until(ctx, stop, time.Duration(g.rng.Int64N(int64(4*time.Second))))
	defer cancel()
	// run handles an error: it restores the link again.
	restored := context.AfterFunc(stalled, func() { _ = g.link.Restore(ctx) })
	defer restored()
	resp, err := g.poll(ctx)
	if err != nil || len(resp.Steps) == 0 {
		return err
	}
	_, err = g.settle(ctx, resp.Steps)
	return err
}

// lateReport reports steps, and lets that arrive when others have them: the
// report has to be refused.
func (g *ghost) lateReport(ctx context.Context, stop <-chan struct{}, steps []protocol.Assignment) error {
	if err := g.link.Hold(cluster.Up); err != nil {
		return err
	}
	type answer struct {
		each []protocol.SettleAnswer
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		each, err := g.settle(ctx, steps)
		answered <- answer{each, err}
	}()
	over := g.await(ctx, stop, steps)
	if err := g.link.Restore(ctx); err != nil {
		return err
	}
	a := <-answered
	if a.err != nil {
		return a.err
	}
	for i, own := range a.each {
		if !over[i] {
			continue
		}
		if own.Error == nil && g.journal.Dispatched {
			continue // no other result was reported
		}
		if own.Error == nil || own.Error.Code != tasker.CodeStaleToken {
			g.notes.add("stale taken", "%s: a result for step %s under token %s came when that was over; the answer is %v",
				g.name, steps[i].StepUUID, steps[i].Token, own.Error)
			continue
		}
		g.refused.Add(1)
	}
	return nil
}

// await waits until others have the steps, and says of which that is known: a result was
// accepted, or the step was handed out again. It gives up after stallLimit.
func (g *ghost) await(ctx context.Context, stop <-chan struct{}, steps []protocol.Assignment) []bool {
	ctx, cancel := until(ctx, stop, stallLimit)
	defer cancel()
	over := make([]bool, len(steps))
	for {
		n := 0
		for i, s := range steps {
			over[i] = g.journal.Obsolete(s.StepUUID, s.Token)
			if over[i] {
				n++
			}
		}
		if n == len(steps) || clock.Sleep(ctx, 20*time.Millisecond) != nil {
			return over
		}
	}
}

// settle reports the steps in one request. A result names the ghost, so the checker sees whose report counts.
func (g *ghost) settle(ctx context.Context, steps []protocol.Assignment) ([]protocol.SettleAnswer, error) {
	req := protocol.SettleRequest{WorkerID: g.me}
	for _, s := range steps {
		result, err := load.Result(s, g.name)
		if err != nil {
			return nil, err
		}
		req.Results = append(req.Results, result)
	}
	return g.backend.Settle(ctx, req)
}

// until is a context that also ends when stop is closed.
func until(ctx context.Context, stop <-chan struct{}, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
