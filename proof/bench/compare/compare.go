// Package compare measures several queues side by side on one machine, phase by phase in turn, each with separate
// tables.
//
// Turns matter because a machine changes: it warms up, its disk fills. So a report compares the same minutes, and forms
// a ratio per round. compare.go has the phases, report.go the statistics.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

// Peer is a queue that takes part.
type Peer struct {
	Name string
	// Open uses fresh tables.
	Open func(ctx context.Context) (Queue, error)
}

// Queue is a queue that was opened.
type Queue interface {
	bench.System
	// Check reports a contradiction to the measured numbers.
	Check(ctx context.Context) error
	// Close removes the tables, too.
	Close() error
}

// Options says how much to measure. All fields but Meter and Progress are required.
type Options struct {
	Rounds       int
	Tasks        int // of each phase; drain has as many as all phases before it
	Workers      int
	IdleWorkers  int
	IdleTasks    int
	PayloadBytes int
	Producers    []int // each is measured for insert and end to end
	Meter        *bench.Meter
	// Progress is called before each measurement; nil for none.
	Progress func(round int, phase, peer string)
}

// Validate reports what cannot be measured.
func (o Options) Validate() error {
	if o.Rounds < 1 || o.Tasks < 1 || o.Workers < 1 || o.IdleWorkers < 1 || o.IdleTasks < 1 {
		return errors.New("rounds, tasks and workers must be positive")
	}
	if o.PayloadBytes < 2 {
		return errors.New("payload must be at least 2 bytes, the shortest JSON text")
	}
	if len(o.Producers) == 0 || slices.Min(o.Producers) < 1 {
		return errors.New("producers must be positive")
	}
	return nil
}

// phase is one measurement of every peer. Its load lacks the System, which is set for each peer.
type phase struct {
	name string
	run  func(ctx context.Context, l *bench.Load, add func(metric string, v Value)) error
	load bench.Load
}

// Run measures. The peers take turns at each phase, and the first one changes from round to round.
func Run(ctx context.Context, peers []Peer, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	report := newReport(peers)
	for round := range o.Rounds {
		if err := runRound(ctx, peers, o, round, report); err != nil {
			return nil, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return report, nil
}

// runRound opens all peers, measures each phase of each, checks them and closes them. The first one changes with the
// phase, too, so that the predecessors vary.
func runRound(ctx context.Context, peers []Peer, o Options, round int, report *Report) (err error) {
	queues := make([]Queue, len(peers))
	defer func() {
		for _, q := range queues {
			if q != nil {
				err = errors.Join(err, q.Close())
			}
		}
	}()
	for i, p := range peers {
		if queues[i], err = p.Open(ctx); err != nil {
			return fmt.Errorf("open %s: %w", p.Name, err)
		}
	}
	for n, ph := range o.phases() {
		for i := range peers {
			at := (i + n + round) % len(peers)
			if o.Progress != nil {
				o.Progress(round+1, ph.name, peers[at].Name)
			}
			load := ph.load
			load.System = queues[at]
			err := ph.run(ctx, &load, func(metric string, v Value) { report.add(metric, at, v) })
			if err != nil {
				return fmt.Errorf("%s of %s: %w", ph.name, peers[at].Name, err)
			}
		}
	}
	// A queue that lost or repeated work has no numbers.
	for i, q := range queues {
		if err := q.Check(ctx); err != nil {
			return fmt.Errorf("check %s: %w", peers[i].Name, err)
		}
	}
	return nil
}

// In order: the first phases queue the work of drain.
func (o Options) phases() []phase {
	load := bench.Load{Workers: o.Workers, PayloadBytes: o.PayloadBytes, Meter: o.Meter, Producers: o.Producers[0]}
	all := []phase{{"warm-up", func(ctx context.Context, l *bench.Load, _ func(string, Value)) error {
		return l.WarmUp(ctx)
	}, load}}
	// timed adds a phase of n tasks, measured as a rate.
	timed := func(name string, producers, n int, run func(*bench.Load, context.Context, int) (*bench.Phase, error)) {
		l := load
		l.Producers = producers
		all = append(all, phase{name, func(ctx context.Context, l *bench.Load, add func(string, Value)) error {
			p, err := run(l, ctx, n)
			if err == nil {
				add(name, Value{PerSecond: p.PerSecond, CPU: p.CPUPerTask})
			}
			return err
		}, l})
	}
	for _, p := range o.Producers {
		timed(fmt.Sprintf("insert, %d callers", p), p, o.Tasks, (*bench.Load).Insert)
	}
	timed("bulk insert", 1, o.Tasks, (*bench.Load).BulkInsert)
	timed("drain", 1, o.Tasks*(len(o.Producers)+1), (*bench.Load).Drain)
	for _, p := range o.Producers {
		timed(fmt.Sprintf("end to end, %d callers", p), p, o.Tasks, (*bench.Load).EndToEnd)
	}
	load.Workers = o.IdleWorkers
	return append(all, phase{"idle", func(ctx context.Context, l *bench.Load, add func(string, Value)) error {
		submit, start, err := l.Idle(ctx, o.IdleTasks)
		if err == nil {
			add("submit p50", Value{MS: ms(submit.P50)})
			add("submit p99", Value{MS: ms(submit.P99)})
			add("submit to start p50", Value{MS: ms(start.P50)})
			add("submit to start p95", Value{MS: ms(start.P95)})
			add("submit to start p99", Value{MS: ms(start.P99)})
		}
		return err
	}, load})
}

func ms(us int64) float64 { return float64(us) / 1000 }
