package inbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
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
func (in *Inbox) Read(ctx context.Context, node string, log *slog.Logger) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	in.read(ctx, node, log, tick.C)
}

func (in *Inbox) read(ctx context.Context, node string, log *slog.Logger, tick <-chan time.Time) {
	r := &readers{in: in, node: node, log: log, running: map[deadletter.SourceKey]*reading{}}
	defer r.stopAll()
	for {
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			log.Warn("sources of dead letters cannot be looked up", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-in.changed:
		}
	}
}

// readers is used only by the goroutine of Read.
type readers struct {
	in   *Inbox
	node string
	log  *slog.Logger

	running map[deadletter.SourceKey]*reading
}

type reading struct {
	in      *Inbox
	source  *deadletter.Source
	carrier Carrier
	prepare storing
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

// look takes free sources, keeps its own, and stops reading those that are paused, changed or lost. A changed source
// restarts in the same look.
func (r *readers) look(ctx context.Context) error {
	sources, err := r.in.store.Sources(ctx, "")
	if err != nil {
		r.expire()
		return err
	}
	wanted := map[deadletter.SourceKey]*deadletter.Source{}
	for _, s := range sources {
		if !s.Paused && r.in.brokerOf(s) != nil {
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

func (r *readers) judge(ctx context.Context, s *deadletter.Source, run *reading) error {
	since, why, heard := run.trouble()
	now := r.in.Now()
	switch {
	case why != "" && s.LostAt == 0 && now.Sub(since) >= lostAfter:
		return r.in.markSource(ctx, s, now, why)
	case heard && why == "" && s.LostAt != 0:
		return r.in.markSource(ctx, s, 0, "")
	}
	return nil
}

func (r *readers) take(ctx context.Context, s *deadletter.Source, hold time.Duration) (mine bool, err error) {
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
func (r *readers) expire() {
	for key := range r.running {
		r.end(key)
	}
}

// begin starts to read a source. The goroutine ends with its context, and closes done.
func (r *readers) begin(ctx context.Context, s *deadletter.Source) {
	ctx, stop := context.WithCancel(ctx)
	run := &reading{in: r.in, source: s, carrier: r.in.brokerOf(s), prepare: r.in.letters(s),
		log: r.log.With("source", s.Name), begun: r.in.Now(), stop: stop, done: make(chan struct{})}
	of := ReadOptions{Batch: r.in.opts.ReadBatch, MaxBytes: r.in.LetterBytes, Left: run.record}
	if s.Intake != nil {
		of.Batch, run.prepare = r.in.opts.IntakeBatch, r.in.intake(s)
	}
	run.large.again = func() error { return run.again(ctx) }
	r.running[s.Key()] = run
	r.log.Info("reading a source", "namespace", s.Namespace, "source", s.Name, "driver", s.Driver, "queue", s.Queue,
		"intake", s.Intake != nil)
	go func() {
		defer close(run.done)
		defer run.large.work.Wait()
		run.carrier.Read(ctx, s, of, run.capture, func(err error) {
			run.note(err)
			run.report(err)
		})
	}()
}

// capture prepares a batch and returns its store function. The carrier retries without end, so it reports a full source
// here; look shows other errors of the database.
func (run *reading) capture(arrivals []Arrival) func(context.Context) error {
	store := run.prepare(arrivals)
	return func(ctx context.Context) error {
		err := store(ctx)
		if task.CodeOf(err) == task.Exhausted {
			run.report(err)
		}
		return err
	}
}

type storing func([]Arrival) (store func(context.Context) error)

func (in *Inbox) letters(s *deadletter.Source) storing {
	return func(arrivals []Arrival) func(context.Context) error {
		return in.inParts(s, in.prepare(s, arrivals)).store
	}
}

func (in *Inbox) intake(s *deadletter.Source) storing {
	plan := intake.NewPlan(s)
	return func(arrivals []Arrival) func(context.Context) error {
		b := in.takeIn(s, plan, arrivals)
		return func(ctx context.Context) error {
			done, err := b.store(ctx)
			if err == nil {
				in.opts.Intaken(s.Namespace, s.Name, done)
			}
			return err
		}
	}
}

func (run *reading) note(err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.heard = true
	gone, isGone := errors.AsType[*GoneError](err)
	switch {
	case isGone:
		run.in.opts.Gone(run.source.Namespace, run.source.Name, gone.Messages)
	case err == nil, errors.Is(err, ErrBlocked), task.CodeOf(err) == task.Exhausted:
		run.since, run.why = 0, ""
	case run.why == "":
		run.since, run.why = run.in.Now(), err.Error()
	default:
		run.why = err.Error()
	}
}

func (run *reading) trouble() (since task.Instant, why string, heard bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.since, run.why, run.heard
}

// report logs an error of a source unless it equals the last one: a broker that is down for a night is one line. nil:
// the source answers again.
func (run *reading) report(err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if isGone(err) {
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
func (r *readers) end(key deadletter.SourceKey) {
	if run := r.running[key]; run != nil {
		run.stop()
		<-run.done
		delete(r.running, key)
	}
}

// stopAll ends all reading and returns the sources immediately instead of after the lease. It takes a second at most,
// without the context of Read, which has ended: a node must be able to shut down without a database.
func (r *readers) stopAll() {
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
