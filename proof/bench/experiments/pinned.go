package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/cli/bench"
)

const (
	runSlices   = 10 // of a run, in the report
	sampleEvery = 100 * time.Millisecond
)

// PinnedReport is the cost of a snapshot held open while tasks run: no row version that ended since can be vacuumed.
type PinnedReport struct {
	EndToEnd *bench.Phase `json:"end_to_end"`
	// Per tenth of the run, in order.
	PerSecond []float64 `json:"slices_per_s"`
	SpanS     float64   `json:"span_s"` // a minute, or a fifth of the run if that is shorter
	First     float64   `json:"first_span_per_s"`
	Last      float64   `json:"last_span_per_s"`
	Ratio     float64   `json:"last_to_first"`
	// HeldBack counts transactions since the snapshot: proof that it was held, and how far back vacuum had to look.
	HeldBack int64 `json:"transactions_held_back"`
}

// pinned processes tasks while an older snapshot stays open, like a long report's or a forgotten session's. The ratio
// of the last span to the first matters.
func (r *run) pinned(ctx context.Context) error {
	if err := r.load.WarmUp(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	snapshot, err := holdSnapshot(ctx, r.opts.DB)
	if err != nil {
		return fmt.Errorf("hold a snapshot: %w", err)
	}
	s := sampleSettled(r.tasker)
	phase, err := r.load.EndToEnd(ctx, r.opts.Tasks)
	samples := s.stop()
	held, rerr := snapshot.release(ctx)
	if err = errors.Join(err, rerr); err != nil {
		return err
	}
	r.report.Pinned = pinnedReport(samples)
	r.report.Pinned.EndToEnd, r.report.Pinned.HeldBack = phase, held
	return nil
}

// snapshot is a transaction with a fixed view of the database.
type snapshot struct {
	conn *pgx.Conn
	tx   pgx.Tx
}

func holdSnapshot(ctx context.Context, dsn string) (*snapshot, error) {
	conn, err := bench.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err == nil {
		// It is idle on purpose, despite the server's setting.
		_, err = tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `SELECT 1`) // only now the snapshot is taken
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return &snapshot{conn, tx}, nil
}

// release ends the transaction, and returns how far it held the horizon back.
func (s *snapshot) release(ctx context.Context) (held int64, err error) {
	defer func() { err = errors.Join(err, s.conn.Close(context.WithoutCancel(ctx))) }()
	err = s.tx.QueryRow(ctx, `SELECT age(backend_xmin) FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&held)
	if err != nil {
		return 0, fmt.Errorf("the snapshot was not held to the end: %w", err)
	}
	return held, s.tx.Rollback(ctx)
}

type sample struct {
	at      time.Duration
	settled int64
}

// sampler reads the settled count ten times a second.
type sampler struct {
	system  bench.System
	begin   time.Time
	base    int64
	samples []sample
	end     chan struct{}
	ended   sync.WaitGroup
}

func sampleSettled(system bench.System) *sampler {
	s := &sampler{system: system, begin: time.Now(), base: system.Settled(), end: make(chan struct{})}
	s.samples = []sample{{}}
	s.ended.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.take()
			case <-s.end:
				return
			}
		}
	})
	return s
}

func (s *sampler) take() {
	s.samples = append(s.samples, sample{time.Since(s.begin), s.system.Settled() - s.base})
}

// stop ends the sampling with one last sample. It omits samples after the last task.
func (s *sampler) stop() []sample {
	close(s.end)
	s.ended.Wait()
	s.take()
	n := len(s.samples)
	for n > 2 && s.samples[n-2].settled == s.samples[n-1].settled {
		n--
	}
	return s.samples[:n]
}

// pinnedReport derives rates from at least one sample.
func pinnedReport(samples []sample) *PinnedReport {
	total := samples[len(samples)-1].at
	span := min(time.Minute, total/5)
	p := &PinnedReport{SpanS: bench.Round3(span.Seconds()), First: rate(samples, 0, span),
		Last: rate(samples, total-span, total)}
	for i := range time.Duration(runSlices) {
		p.PerSecond = append(p.PerSecond, rate(samples, total*i/runSlices, total*(i+1)/runSlices))
	}
	if p.First > 0 {
		p.Ratio = bench.Round3(p.Last / p.First)
	}
	return p
}

func rate(samples []sample, from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	return math.Round((settledAt(samples, to) - settledAt(samples, from)) / (to - from).Seconds())
}

func settledAt(samples []sample, at time.Duration) float64 {
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		if at <= b.at {
			if b.at == a.at {
				return float64(b.settled)
			}
			return float64(a.settled) + float64(b.settled-a.settled)*float64(at-a.at)/float64(b.at-a.at)
		}
	}
	return float64(samples[len(samples)-1].settled)
}
