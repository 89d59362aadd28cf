package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/failure"
)

// The work queue on this process's broker, and the source of the letters.
const letterWork, letterSource = "bench", "bench"

// queued bounds the messages in the broker, to keep them out of the memory measurement.
const queued = 20_000

// pollEvery is the pause between looks at a phase, which cost time.
const pollEvery = 50 * time.Millisecond

// redriven bounds the letters sent back.
const redriven = 100_000

// letterRig is a node that captures letters of a broker and sends them back.
type letterRig struct {
	opts   Options
	causes []letterCause
	conn   driver.Driver
	work   string // the consumers' queue
	dead   string // the letters' queue
	forget func() error
	node   *node.Node
	inbox  deadletters.Backend
	meter  *Meter
	ended  chan error
	stop   context.CancelFunc
	drop   func() error
	taken  intakeCount
}

// runLetters measures dead letters on one node, phase by phase on the captured letters. After an error the report
// has the earlier phases.
func runLetters(ctx context.Context, opts Options) (report Report, err error) {
	report.Setting = opts.setting()
	r, err := mountLetters(ctx, opts)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	l := &LettersReport{Letters: opts.Letters, Groups: opts.Groups, FingerprintMicros: r.fingerprint()}
	report.Dead = l
	if l.Capture, err = r.capture(ctx); err != nil {
		return report, fmt.Errorf("capture: %w", err)
	}
	if l.Freeze, err = r.freeze(ctx); err != nil {
		return report, fmt.Errorf("freeze: %w", err)
	}
	if l.Pages, err = r.pages(ctx); err != nil {
		return report, fmt.Errorf("pages: %w", err)
	}
	if l.Redrive, l.Redriven, err = r.redrive(ctx); err != nil {
		return report, fmt.Errorf("redrive: %w", err)
	}
	report.MaxRSSBytes, err = maxRSS([]int{os.Getpid()})
	return report, err
}

// mountLetters starts a node on the database, with its own schema on PostgreSQL. Close it; after an error nothing
// is left.
func mountLetters(ctx context.Context, opts Options) (r *letterRig, err error) {
	own, drop, err := ownSchema(ctx, opts.DB)
	if err != nil {
		return nil, err
	}
	opts.DB = own
	r = &letterRig{opts: opts, causes: letterCauses(opts.Groups), drop: drop, ended: make(chan error, 1)}
	drivers, err := r.openBroker(ctx)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	r.node, err = node.Open(ctx, own, node.Options{Drivers: drivers, Engine: unlimited(), Intaken: r.taken.add})
	if err != nil {
		return nil, errors.Join(err, r.conn.Close(), r.forget(), drop())
	}
	r.inbox = deadletters.Of(tasker.NewClient(r.node))
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	go func() { r.ended <- r.node.Run(running) }()
	if r.meter, err = Watch(ctx, own, []int{os.Getpid()}); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *letterRig) close() error {
	r.stop()
	err := <-r.ended
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, r.conn.Close(), r.node.Close(), r.forget(), r.drop())
}

// fingerprint measures the fingerprint of a failure, the part of a capture without a database, in microseconds: the
// best of several rounds, because other work interrupts some.
func (r *letterRig) fingerprint() float64 {
	const rounds, each = 20, 1000
	messages := make([]string, each)
	for i := range messages {
		messages[i] = errorMessage(i)
	}
	best := time.Duration(math.MaxInt64)
	for range rounds {
		t0 := time.Now()
		for i := range each {
			of := r.causes[i%len(r.causes)]
			failure.PrintOf(failure.Report{Type: of.kind, Message: messages[i]}, of.stack, letterSource)
		}
		best = min(best, time.Since(t0))
	}
	return Round3(float64(best.Nanoseconds()) / 1000 / each)
}

// capture publishes all letters, at most queued at a time, and waits until they are stored, acknowledged, and
// counted in their groups.
func (r *letterRig) capture(ctx context.Context) (*Phase, error) {
	load := Load{Meter: r.meter}
	return load.Measure(r.opts.Letters, func() error {
		if _, err := r.inbox.SaveSource(ctx, deadletters.SourceRequest{Source: deadletters.Source{Name: letterSource,
			Driver: r.opts.Broker, URL: cmp.Or(r.opts.BrokerURL, "memory:"), Queue: r.dead}}); err != nil {
			return err
		}
		for from := 0; from < r.opts.Letters; from += BulkSize {
			if err := r.room(ctx, queued); err != nil {
				return err
			}
			batch := make([]driver.Message, min(BulkSize, r.opts.Letters-from))
			for i := range batch {
				batch[i] = r.message(from + i)
			}
			if err := errors.Join(r.conn.Send(ctx, r.dead, batch, driver.Limits{})...); err != nil {
				return err
			}
		}
		if err := r.room(ctx, 0); err != nil {
			return err
		}
		return r.until(ctx, func() (int, error) { return r.open(ctx) }, r.opts.Letters)
	})
}

// room waits until at most most messages wait in the dead-letter queue.
func (r *letterRig) room(ctx context.Context, most int) error {
	return r.until(ctx, func() (int, error) {
		_, depth, err := r.conn.Stat(ctx, r.dead)
		return -int(depth), err
	}, -most)
}

func (r *letterRig) open(ctx context.Context) (n int, err error) {
	filter := deadletters.GroupFilter{Limit: 1000}
	for {
		page, err := r.inbox.Groups(ctx, filter)
		if err != nil {
			return 0, err
		}
		for i := range page.Groups {
			n += int(page.Groups[i].OpenLetters)
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return n, nil
		}
	}
}

// until waits for a goal. It fails after a minute without a change, or when the node has ended.
func (r *letterRig) until(ctx context.Context, count func() (int, error), goal int) error {
	last, since := 0, time.Now()
	for {
		n, err := count()
		if err != nil || n >= goal {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > stall {
			return fmt.Errorf("nothing has happened for %s: %d of %d", stall, n, goal)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-r.ended:
			r.ended <- err
			return errors.Join(errors.New("the node has ended"), err)
		case <-time.After(pollEvery):
		}
	}
}

// freeze measures freezing a selection of all letters; it cancels the redrive without sending.
func (r *letterRig) freeze(ctx context.Context) (*Phase, error) {
	load := Load{Meter: r.meter}
	var made *deadletters.Redrive
	phase, err := load.Measure(r.opts.Letters, func() (err error) {
		made, err = r.inbox.CreateRedrive(ctx, deadletters.RedriveRequest{Operation: deadletters.OpRedrive,
			Selection: deadletters.Selection{Namespace: "default", Source: letterSource}})
		return err
	})
	if err != nil {
		return nil, err
	}
	if made.Total != r.opts.Letters {
		return nil, fmt.Errorf("%d letters were frozen, not %d", made.Total, r.opts.Letters)
	}
	_, err = r.inbox.ActOnRedrive(ctx, made.RedriveUUID, deadletters.RedriveAct{Action: deadletters.CancelRedrive})
	return phase, err
}

// redrive sends the letters of as many groups as the bound allows in one wave without a rate, and waits for the
// end.
func (r *letterRig) redrive(ctx context.Context) (*Phase, int, error) {
	sel := deadletters.Selection{Namespace: "default", Source: letterSource}
	if r.opts.Letters > redriven {
		few := max(1, min(100, redriven*r.opts.Groups/r.opts.Letters))
		page, err := r.inbox.Groups(ctx, deadletters.GroupFilter{Limit: few})
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Groups {
			sel.Groups = append(sel.Groups, page.Groups[i].GroupID)
		}
	}
	received, stop := r.drain(ctx)
	defer stop()
	made, err := r.inbox.CreateRedrive(ctx, deadletters.RedriveRequest{Operation: deadletters.OpRedrive, Selection: sel,
		Plan: deadletters.Plan{Canary: redriven, Largest: redriven, ObserveSeconds: 0.001},
		Stop: deadletters.StopRule{ReturnedShare: 1, SamePrint: 100_000, Failed: 100_000}})
	if err != nil {
		return nil, 0, err
	}
	load := Load{Meter: r.meter}
	phase, err := load.Measure(made.Total, func() error {
		if _, err := r.inbox.ActOnRedrive(ctx, made.RedriveUUID,
			deadletters.RedriveAct{Action: deadletters.StartRedrive}); err != nil {
			return err
		}
		// Poll the arrivals, because a look at the redrive counts its items.
		if err := r.until(ctx, func() (int, error) { return int(received.Load()), nil }, made.Total); err != nil {
			return err
		}
		return r.until(ctx, func() (int, error) {
			now, err := r.inbox.Redrive(ctx, made.RedriveUUID)
			if err != nil || now.State != deadletters.RedriveDone {
				return 0, err
			}
			return 1, nil
		}, 1)
	})
	if err != nil {
		return nil, 0, err
	}
	if n := int(received.Load()); n != made.Total {
		return nil, 0, fmt.Errorf("%d letters were redriven, and %d messages arrived", made.Total, n)
	}
	return phase, made.Total, nil
}
