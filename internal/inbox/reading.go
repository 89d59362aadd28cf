package inbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Carrier connects the inbox with the brokers of one driver, for all sources of that driver. It is safe for concurrent
// use. Package carrier implements it.
type Carrier interface {
	Sender
	// Depth returns how many messages of a source are not captured yet; -1 where the broker does not count, and 0 for a
	// queue that does not exist. Messages that another node has taken and not stored count if the broker counts them.
	// Errors may wrap ErrRefused.
	Depth(ctx context.Context, source *deadletter.Source) (int64, error)
	// OnTheWay reports whether messages may be on their way to this node, where Depth misses them for a moment.
	OnTheWay(source *deadletter.Source) bool
	// Lag returns how many messages wait in each part of a queue, by its number; nil where there are no parts.
	Lag(ctx context.Context, source *deadletter.Source) (map[int32]int64, error)
	// Breaker returns the state of the circuit breaker of sends to the broker; "" for a source whose letters go to hosts.
	Breaker(source *deadletter.Source) task.BreakerState
	// Read receives messages of a source, and has them acknowledged once they are stored. It connects again after
	// errors, and blocks until ctx ends.
	//
	// capture prepares a batch and returns what stores it. A batch may be prepared while the one before it is stored;
	// batches are stored one at a time, in their order. After an error the messages stay with the broker and are
	// delivered again. report gets errors, and nil when the source answers again. ErrBlocked: messages cannot be stored
	// now.
	Read(ctx context.Context, source *deadletter.Source, of ReadOptions,
		capture func([]Arrival) (store func(context.Context) error), report func(error))
	// Peek returns up to max messages at the front of a source as Read would, and leaves them there. ErrNoPeek: brokers
	// of its kind cannot do that.
	Peek(ctx context.Context, source *deadletter.Source, max int) ([]Arrival, error)
	LogReader
}

// ReadOptions configure Carrier.Read.
type ReadOptions struct {
	Batch int // bounds the messages that are captured at a time; 0 is a default
	// MaxBytes bounds a message that is captured. A larger one stays on its broker, and those behind it are captured, once
	// Left has returned nil. Left may get a message again.
	MaxBytes int
	Left     func(ctx context.Context, messages []deadletter.Oversized) error
}

// ErrNoPeek is why messages cannot be shown without taking them.
var ErrNoPeek = errors.New("the broker shows no messages without delivering them")

// GoneError is reported once for messages that a broker has deleted before they were read. The source is read on.
type GoneError struct {
	Messages int64 // at most
	Why      string
}

// Error says why.
func (e *GoneError) Error() string { return "messages are gone: " + e.Why }

// ErrBlocked is why a source is not read further although its broker answers.
var ErrBlocked = errors.New("messages of the source cannot be captured now")

// ErrRefused begins the words of a broker that answers and refuses: a retry is in vain until somebody changes its
// permissions, or the source.
var ErrRefused = errors.New("the broker refuses")

// lostAfter is how long a source must fail before it counts as lost: a broker that restarts is no news.
const lostAfter = 30 * time.Second

// readEvery is how often a node looks for sources to read, and readLease how long it may read one without looking
// again: so long a source stands still when its node has died.
const readEvery, readLease = time.Second, 4 * time.Second

// Read reads the sources that no other node reads, until ctx ends; then it gives them back, and waits for captures
// under way. node is the name of this process and must be unique among the nodes. Read logs errors. Call it once.
func (in *Inbox) Read(ctx context.Context, node string, log *slog.Logger) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	in.read(ctx, node, log, tick.C)
}

// read is Read, with a look at each tick and after each change of a source on this node.
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

// wakeReaders makes Read look at the sources at once. It never blocks.
func (in *Inbox) wakeReaders() {
	select {
	case in.changed <- struct{}{}:
	default:
	}
}

// readers are the sources that this node reads. Only the goroutine of Read uses it.
type readers struct {
	in   *Inbox
	node string
	log  *slog.Logger

	running map[deadletter.SourceKey]*reading
}

// reading is one source that a goroutine reads.
type reading struct {
	in      *Inbox
	source  *deadletter.Source
	carrier Carrier
	prepare storing
	log     *slog.Logger
	begun   task.Instant
	stop    context.CancelFunc
	done    chan struct{}
	large   looks // at messages that stay on the broker

	mu    sync.Mutex
	last  string       // the last error that was logged
	heard bool         // something was reported
	since task.Instant // since when it fails; 0: it does not
	why   string
}

// look takes sources that are free, keeps those that it has, and stops reading those that are paused, changed or lost.
// A changed source is read anew in the same look, with its new settings.
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
			run.large.look(r.in.now())
		}
	}
	return nil
}

// judge stores that a source is lost, or found again, and tells.
func (r *readers) judge(ctx context.Context, s *deadletter.Source, run *reading) error {
	since, why, heard := run.trouble()
	now := r.in.now()
	switch {
	case why != "" && s.LostAt == 0 && now.Sub(since) >= lostAfter:
		return r.in.markSource(ctx, s, now, why)
	case heard && why == "" && s.LostAt != 0:
		return r.in.markSource(ctx, s, 0, "")
	}
	return nil
}

// markSource stores since when a source cannot be read, or 0, and tells if another node has not.
func (in *Inbox) markSource(ctx context.Context, s *deadletter.Source, lost task.Instant, why string) error {
	why = failure.Cut(why, deadletter.MaxCause)
	return in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		changed, err := in.store.MarkSource(ctx, tx, s.Namespace, s.Name, lost, why)
		if err != nil || !changed {
			return err
		}
		return in.tell(ctx, tx, deadletter.SourceHappened(s, why, in.now()))
	})
}

// take takes or renews the right to read a source for a time, and reports whether this node has it; a hold of 0 gives
// it back.
func (r *readers) take(ctx context.Context, s *deadletter.Source, hold time.Duration) (mine bool, err error) {
	now := r.in.now()
	free := now
	if r.in.alone { // its holder has ended
		free = now.Add(readLease)
	}
	err = r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		mine, err = r.in.store.TakeSource(ctx, tx, s.Namespace, s.Name, r.node, free, now.Add(hold))
		return err
	})
	return mine, err
}

// expire stops reading everything: without the database this node does not know whether another one reads too.
func (r *readers) expire() {
	for key := range r.running {
		r.end(key)
	}
}

// begin starts to read a source. The goroutine ends when its context does, and closes done then.
func (r *readers) begin(ctx context.Context, s *deadletter.Source) {
	ctx, stop := context.WithCancel(ctx)
	run := &reading{in: r.in, source: s, carrier: r.in.brokerOf(s), prepare: r.in.letters(s),
		log: r.log.With("source", s.Name), begun: r.in.now(), stop: stop, done: make(chan struct{})}
	of := ReadOptions{Batch: r.in.opts.ReadBatch, MaxBytes: r.in.opts.LetterBytes, Left: run.record}
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

// capture prepares a batch, and returns what stores it. The carrier retries without an end, so a full source is
// reported here. Other errors of the database show in look.
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

// storing prepares a batch of messages, and returns what stores it.
type storing func([]Arrival) (store func(context.Context) error)

// letters makes the messages of a source letters.
func (in *Inbox) letters(s *deadletter.Source) storing {
	return func(arrivals []Arrival) func(context.Context) error {
		return in.inParts(s, in.prepare(s, arrivals)).store
	}
}

// intake makes the messages of a source tasks.
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

// note remembers whether the broker of a source fails, and since when.
func (run *reading) note(err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.heard = true
	gone, isGone := errors.AsType[*GoneError](err)
	switch {
	case isGone: // the broker answers
		run.in.opts.Gone(run.source.Namespace, run.source.Name, gone.Messages)
	case err == nil, errors.Is(err, ErrBlocked), task.CodeOf(err) == task.Exhausted:
		run.since, run.why = 0, ""
	case run.why == "":
		run.since, run.why = run.in.now(), err.Error()
	default:
		run.why = err.Error()
	}
}

// isGone reports whether an error is a loss of messages, after which the source is read on.
func isGone(err error) bool {
	_, ok := errors.AsType[*GoneError](err)
	return ok
}

// trouble returns since when and why a source fails, "" if it does not, and whether anything is known of it.
func (run *reading) trouble() (since task.Instant, why string, heard bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.since, run.why, run.heard
}

// report logs an error of a source, unless it is the same as the last one: a broker that is down for a night is one
// line. nil means that the source answers again.
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

// end stops reading a source, and waits for captures under way: another node may only begin when this one is silent.
func (r *readers) end(key deadletter.SourceKey) {
	if run := r.running[key]; run != nil {
		run.stop()
		<-run.done
		delete(r.running, key)
	}
}

// stopAll ends all reading, and leaves the sources to other nodes at once instead of after the lease. It takes a second
// at most, and the context of Read has ended: a node must shut down without a database.
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
