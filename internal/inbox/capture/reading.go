package capture

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

// lostAfter is how long a source must fail before it counts as lost: a restart of a broker is no news.
const lostAfter = 30 * time.Second

// readEvery is how often a node looks for sources, and readLease how long it may read one without another look: after
// the death of its node, a source pauses that long.
const readEvery, readLease = time.Second, 4 * time.Second

// Read reads the sources that no other node reads, until ctx ends; then it returns them, after captures under way. node
// must be unique among the nodes. Read logs errors. Call it once.
func (in *Capturer) Read(ctx context.Context, node string, log *slog.Logger) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	NewReaders(in, node, log).Run(ctx, tick.C)
}

// Readers read sources. Only one goroutine uses them.
type Readers struct {
	in   *Capturer
	node string
	log  *slog.Logger

	running map[deadletter.SourceKey]*Reading
}

// NewReaders returns the readers of a node, which read nothing yet.
func NewReaders(in *Capturer, node string, log *slog.Logger) *Readers {
	return &Readers{in: in, node: node, log: log, running: map[deadletter.SourceKey]*Reading{}}
}

// Run looks at each tick, and when sources have changed, until ctx ends.
func (r *Readers) Run(ctx context.Context, tick <-chan time.Time) {
	defer r.Stop()
	for {
		if err := r.Look(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("sources of dead letters cannot be looked up", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-r.in.sources.Changed:
		}
	}
}

// Reading reads one source.
type Reading struct {
	in      *Capturer
	source  *deadletter.Source
	carrier seam.Carrier
	prepare func([]seam.Arrival) (store func(context.Context) error)
	log     *slog.Logger
	begun   task.Instant
	stop    context.CancelFunc
	done    chan struct{}
	large   looks

	mu    sync.Mutex
	last  string
	heard bool
	since task.Instant // of the failure; 0: none
	why   string
}

// NewReading returns a Reading that has begun.
func NewReading(in *Capturer, s *deadletter.Source, log *slog.Logger) *Reading {
	return &Reading{in: in, source: s, carrier: in.opts.Carriers.Of(s), prepare: in.Storing(s), log: log,
		begun: in.Now(), done: make(chan struct{})}
}

// Look takes free sources, keeps its own, and stops reading those that are paused, changed or lost. A changed source
// restarts in the same look.
func (r *Readers) Look(ctx context.Context) error {
	sources, err := r.in.store.Sources(ctx, "")
	if err != nil {
		r.expire()
		return err
	}
	wanted := map[deadletter.SourceKey]*deadletter.Source{}
	for _, s := range sources {
		if !s.Paused && r.in.opts.Carriers.Of(s) != nil {
			wanted[s.Key()] = s
		}
	}
	// First, so that no lease is renewed for old settings.
	for key, run := range r.running {
		if s := wanted[key]; s == nil || s.Version != run.source.Version {
			r.end(key)
		}
	}
	for key, s := range wanted {
		mine, err := r.take(ctx, s, readLease)
		switch {
		case err != nil:
			r.expire()
			return err
		case !mine:
			r.end(key)
		case r.running[key] == nil:
			r.begin(ctx, s)
		default:
			if err := r.judge(ctx, s, r.running[key]); err != nil {
				return err
			}
		}
		if run := r.running[key]; run != nil {
			run.large.look(r.in.Now())
		}
	}
	return nil
}

func (r *Readers) judge(ctx context.Context, s *deadletter.Source, run *Reading) error {
	since, why, heard := run.trouble()
	now := r.in.Now()
	switch {
	case why != "" && s.LostAt == 0 && now.Sub(since) >= lostAfter:
		return r.in.sources.MarkSource(ctx, s, now, why)
	case heard && why == "" && s.LostAt != 0:
		return r.in.sources.MarkSource(ctx, s, 0, "")
	}
	return nil
}

func (r *Readers) take(ctx context.Context, s *deadletter.Source, hold time.Duration) (mine bool, err error) {
	now := r.in.Now()
	free := now
	if r.in.Alone { // its holder has ended
		free = now.Add(readLease)
	}
	err = r.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		mine, err = r.in.store.TakeSource(ctx, tx, s.Namespace, s.Name, r.node, free, now.Add(hold))
		return err
	})
	return mine, err
}

// expire stops all reading: without the database this node cannot see whether another one reads too.
func (r *Readers) expire() {
	for key := range r.running {
		r.end(key)
	}
}

// begin starts to read a source. The goroutine ends with its context, and closes done.
func (r *Readers) begin(ctx context.Context, s *deadletter.Source) {
	ctx, stop := context.WithCancel(ctx)
	run := NewReading(r.in, s, r.log.With("source", s.Name))
	run.stop = stop
	of := seam.ReadOptions{Batch: r.in.opts.ReadBatch, MaxBytes: r.in.LetterBytes, Left: run.Record}
	if s.Intake != nil {
		of.Batch, run.prepare = r.in.opts.IntakeBatch, r.in.intake(s)
	}
	run.large.again = func() error { return run.Again(ctx) }
	r.running[s.Key()] = run
	r.log.Info("reading a source", "namespace", s.Namespace, "source", s.Name, "driver", s.Driver, "queue", s.Queue,
		"intake", s.Intake != nil)
	go func() {
		defer close(run.done)
		defer run.large.end()
		run.carrier.Read(ctx, s, of, run.capture, func(err error) {
			run.note(err)
			run.report(err)
		})
	}()
}

// capture prepares a batch and returns its store function. The carrier retries without end, so it reports a full source
// here; look shows other errors of the database.
func (run *Reading) capture(arrivals []seam.Arrival) func(context.Context) error {
	store := run.prepare(arrivals)
	return func(ctx context.Context) error {
		err := store(ctx)
		if task.CodeOf(err) == task.Exhausted {
			run.report(err)
		}
		return err
	}
}

// Storing returns what prepares batches of a source, each with its store function.
func (in *Capturer) Storing(s *deadletter.Source) func([]seam.Arrival) (store func(context.Context) error) {
	return func(arrivals []seam.Arrival) func(context.Context) error {
		return in.inParts(s, in.prepare(s, arrivals)).store
	}
}

func (in *Capturer) intake(s *deadletter.Source) func([]seam.Arrival) (store func(context.Context) error) {
	plan := intake.NewPlan(s)
	return func(arrivals []seam.Arrival) func(context.Context) error {
		b := in.TakeIn(s, plan, arrivals)
		return func(ctx context.Context) error {
			done, err := b.Store(ctx)
			if err == nil {
				in.opts.Intaken(s.Namespace, s.Name, done)
			}
			return err
		}
	}
}

func (run *Reading) note(err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.heard = true
	gone, isGone := errors.AsType[*seam.GoneError](err)
	switch {
	case isGone:
		run.in.opts.Gone(run.source.Namespace, run.source.Name, gone.Messages)
	case err == nil, errors.Is(err, seam.ErrBlocked), task.CodeOf(err) == task.Exhausted:
		run.since, run.why = 0, ""
	case run.why == "":
		run.since, run.why = run.in.Now(), err.Error()
	default:
		run.why = err.Error()
	}
}

func (run *Reading) trouble() (since task.Instant, why string, heard bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.since, run.why, run.heard
}

// report logs an error of a source unless it equals the last one: a broker that is down for a night is one line. nil:
// the source answers again.
func (run *Reading) report(err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if seam.IsGone(err) {
		run.log.Error("messages of a source were LOST: its broker has deleted them before they were read", "error", err)
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == run.last:
	case err == nil:
		run.log.Info("a source of dead letters is back")
	default:
		run.log.Warn("a source of dead letters cannot be read", "error", text)
	}
	run.last = text
}

// end stops reading a source and waits for captures under way, before another node may begin.
func (r *Readers) end(key deadletter.SourceKey) {
	if run := r.running[key]; run != nil {
		run.stop()
		<-run.done
		delete(r.running, key)
	}
}

// Stop ends all reading and returns the sources immediately instead of after the lease. It takes a second at most,
// without the context of Read, which has ended: a node must be able to shut down without a database.
func (r *Readers) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for key, run := range r.running {
		r.end(key)
		if _, err := r.take(ctx, run.source, 0); err != nil {
			r.log.Debug("a source was not given back; it is free in a moment",
				"namespace", key.Namespace, "source", key.Name, "error", err)
		}
	}
}
