package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// Carrier connects the inbox with the brokers of one driver.
type Carrier interface {
	Sender
	// Read receives messages of a source, and has them acknowledged once capture has returned nil. It connects again
	// after errors, which it reports, and blocks until ctx ends.
	Read(ctx context.Context, source *deadletter.Source, capture func(context.Context, []Arrival) error,
		report func(error))
}

const (
	// readEvery is how often a node looks for sources to read, and readLease how long it may read one without looking
	// again. The lease bounds how long a source stands still when its node has died.
	readEvery, readLease = time.Second, 4 * time.Second
)

// Read reads the sources that no other node reads, until ctx ends. node is the name of this process. It blocks.
func (in *Inbox) Read(ctx context.Context, node string, log *slog.Logger) {
	r := &readers{in: in, node: node, log: log, running: map[string]*reading{}}
	defer r.stopAll()
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			log.Warn("sources of dead letters cannot be looked up", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readers are the sources that this node reads.
type readers struct {
	in   *Inbox
	node string
	log  *slog.Logger

	running map[string]*reading
}

// reading is one source that is being read.
type reading struct {
	source *deadletter.Source
	stop   context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	last string // the last error that was logged
}

// look takes sources that are free, keeps those that it has, and stops reading those that are paused, changed or lost.
func (r *readers) look(ctx context.Context) error {
	sources, err := r.in.store.Sources(ctx, "")
	if err != nil {
		r.expire()
		return err
	}
	wanted := map[string]*deadletter.Source{}
	for _, s := range sources {
		if !s.Paused && s.Driver != HTTP && r.in.opts.Carriers[s.Driver] != nil {
			wanted[s.Namespace+"/"+s.Name] = s
		}
	}
	for name, run := range r.running {
		if s := wanted[name]; s == nil || s.Version != run.source.Version {
			r.end(name)
		}
	}
	for name, s := range wanted {
		mine, err := r.take(ctx, s, readLease)
		switch {
		case err != nil:
			r.expire()
			return err
		case !mine:
			r.end(name)
		case r.running[name] == nil:
			r.begin(ctx, name, s)
		}
	}
	return nil
}

// take asks for the right to read a source, or renews it.
func (r *readers) take(ctx context.Context, s *deadletter.Source, hold time.Duration) (mine bool, err error) {
	now := r.in.now()
	err = r.in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		mine, err = r.in.store.TakeSource(ctx, tx, s.Namespace, s.Name, r.node, now, now.Add(hold))
		return err
	})
	return mine, err
}

// expire stops reading everything: without the database this node does not know whether another one reads too.
func (r *readers) expire() {
	for name := range r.running {
		r.end(name)
	}
}

func (r *readers) begin(ctx context.Context, name string, s *deadletter.Source) {
	ctx, stop := context.WithCancel(ctx)
	run := &reading{source: s, stop: stop, done: make(chan struct{})}
	r.running[name] = run
	carrier := r.in.opts.Carriers[s.Driver]
	r.log.Info("reading a source of dead letters", "source", name, "driver", s.Driver, "queue", s.Queue)
	go func() {
		defer close(run.done)
		carrier.Read(ctx, s, func(ctx context.Context, arrivals []Arrival) error {
			_, err := r.in.Capture(ctx, s, arrivals)
			if task.CodeOf(err) == task.Exhausted {
				run.report(r.log, err)
			}
			return err
		}, func(err error) { run.report(r.log, err) })
	}()
}

// report logs an error of a source, unless it is the last one again.
func (run *reading) report(log *slog.Logger, err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == run.last {
		return
	}
	run.last = text
	if err == nil {
		log.Info("a source of dead letters is back", "source", run.source.Name)
		return
	}
	log.Warn("a source of dead letters cannot be read", "source", run.source.Name, "error", text)
}

// end stops reading a source, and waits for what is being captured.
func (r *readers) end(name string) {
	run := r.running[name]
	if run == nil {
		return
	}
	run.stop()
	<-run.done
	delete(r.running, name)
}

// stopAll ends all reading, and leaves the sources to other nodes at once.
func (r *readers) stopAll() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for name, run := range r.running {
		r.end(name)
		if _, err := r.take(ctx, run.source, 0); err != nil {
			r.log.Debug("a source was not given back; it is free in a moment", "source", name, "error", err)
		}
	}
}
