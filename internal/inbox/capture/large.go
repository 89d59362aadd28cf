package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// lookEvery is how often a source looks at messages left on its broker, and lookRetry after an error. A message not
	// redelivered within lookEvery is gone.
	lookEvery, lookRetry = time.Hour, time.Minute
	// maxDeliveries is how often a too large message is received from a broker that counts deliveries: a quorum queue
	// of RabbitMQ drops one after 20 by default.
	maxDeliveries = 10
)

// Record notes messages left on the broker because they are too large. Exhausted when there are too many: the next
// would go unnoticed, so reading stops.
func (run *Reading) Record(ctx context.Context, list []deadletter.Oversized) error {
	in, now := run.in, run.in.Now()
	known, err := in.store.Oversized(ctx, run.source.Namespace, run.source.Name)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(known))
	for _, o := range known {
		seen[o.Position] = true
	}
	var rows, fresh []deadletter.Oversized
	worn := false
	for _, o := range list {
		worn = worn || o.Deliveries >= maxDeliveries
		if slices.ContainsFunc(rows, func(r deadletter.Oversized) bool { return r.Position == o.Position }) {
			continue
		}
		o.FirstAt, o.SeenAt = now, now
		if rows = append(rows, o); !seen[o.Position] {
			fresh = append(fresh, o)
		}
	}
	if len(known)+len(fresh) > sources.MaxOversized {
		err := task.Errorf(task.Exhausted, "%s", sources.TooManyLarge(in.LetterBytes))
		run.report(err)
		return err
	}
	err = in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.SaveOversized(ctx, tx, run.source.Namespace, run.source.Name, rows)
	})
	if err != nil {
		return err
	}
	for _, o := range fresh {
		run.log.Warn("a message stays on its broker: it is larger than a letter may be (engine.limits.letter_bytes)",
			"position", o.Position, "bytes", o.Bytes, "limit", in.LetterBytes)
	}
	if !worn {
		return nil
	}
	return run.protect(ctx)
}

// protect pauses a source whose broker is about to drop a message that it redelivers again and again.
func (run *Reading) protect(ctx context.Context) error {
	why := fmt.Sprintf("a message that is too large was delivered %d times: the broker would drop it after some more; "+
		"raise engine.limits.letter_bytes, or take the message away", maxDeliveries)
	run.log.Error("the source is paused: " + why)
	return run.in.sources.PauseFor(ctx, run.source.Key(), why)
}

// Again looks at all recorded messages: it captures those of a log that fit now, and forgets redelivered and missing
// ones.
func (run *Reading) Again(ctx context.Context) error {
	in := run.in
	list, err := in.store.Oversized(ctx, run.source.Namespace, run.source.Name)
	if err != nil || len(list) == 0 {
		return err
	}
	_, trouble, _ := run.trouble()
	delivered := trouble == "" && in.Now().Sub(run.begun) >= lookEvery // all that is there was delivered
	var starts map[int32]int64
	var errs []error
	var done []string
	for _, o := range list {
		ended := false
		switch fits := o.Bytes <= in.LetterBytes; {
		case !o.InLog():
			ended = fits || delivered && in.Now().Sub(o.SeenAt) > lookEvery
		case fits:
			ended, err = run.fromLog(ctx, o)
			errs = append(errs, err)
		default:
			if starts == nil {
				if starts, err = run.starts(ctx); err != nil {
					return err
				}
			}
			if ended = o.Offset < starts[o.Partition]; ended {
				run.gone(o)
			}
		}
		if ended {
			done = append(done, o.Position)
		}
	}
	if len(done) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.DropOversized(ctx, tx, run.source.Namespace, run.source.Name, done)
	}))...)
}

func (run *Reading) starts(ctx context.Context) (map[int32]int64, error) {
	parts, err := run.carrier.LogParts(ctx, run.source, run.source.Queue, time.Time{}, time.Time{})
	starts := make(map[int32]int64, len(parts))
	for _, p := range parts {
		starts[p.Partition] = p.From
	}
	return starts, err
}

func (run *Reading) fromLog(ctx context.Context, o deadletter.Oversized) (ended bool, err error) {
	at := model.ReplayPart{Partition: o.Partition, From: o.Offset, Next: o.Offset, To: o.Offset + 1}
	entries, _, err := run.carrier.ReadLog(ctx, run.source, run.source.Queue, at, 1)
	if err != nil && !seam.IsGone(err) {
		return false, err
	}
	var a seam.Arrival
	if err == nil && len(entries) > 0 {
		a = entries[0].Arrival()
	}
	if a.Position != o.Position { // also if the topic was deleted and made again
		run.gone(o)
		return true, nil
	}
	if err := run.prepare([]seam.Arrival{a})(ctx); err != nil {
		return false, err
	}
	run.log.Info("a message that was too large is captured", "position", o.Position, "bytes", o.Bytes)
	return true, nil
}

func (run *Reading) gone(o deadletter.Oversized) {
	run.log.Error("a message of a source was LOST: it was too large, and its broker has deleted it",
		"position", o.Position)
	run.in.opts.Gone(run.source.Namespace, run.source.Name, 1)
}

type looks struct {
	again func() error
	work  sync.WaitGroup
	ended bool // no look begins any more

	mu   sync.Mutex
	busy bool
	next task.Instant
}

func (k *looks) look(now task.Instant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy || k.ended || now < k.next {
		return
	}
	k.busy, k.next = true, now.Add(lookEvery)
	k.work.Go(func() {
		err := k.again()
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.busy = false; err != nil {
			k.next = now.Add(lookRetry)
		}
	})
}

// end lets no further look begin, and waits for the one under way.
func (k *looks) end() {
	k.mu.Lock()
	k.ended = true
	k.mu.Unlock()
	k.work.Wait()
}
