package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	replayBatch    = 1000
	replayPause    = 2 * time.Second // after an error
	replaysAtOnce  = 4               // so that a silent broker holds up no other
	runningReplays = 1000
)

// AdvanceReplays advances running replays for about a second each. It must run in one process at a time; another
// continues from the rows, and two at once store nothing twice. It returns the number of stored messages, and whether
// more are due.
func (in *Replayer) AdvanceReplays(ctx context.Context) (n int, more bool, err error) {
	list, err := in.store.RunningReplays(ctx, runningReplays)
	if err != nil || len(list) == 0 {
		return 0, false, err
	}
	var stored atomic.Int64
	var due atomic.Bool
	errs := desk.AtOnce(list, replaysAtOnce, func(r *deadletter.Replay) error {
		p := &reading{in: in, replay: r, until: in.Now().Add(desk.TurnTime)}
		again, err := p.run(ctx)
		stored.Add(int64(p.stored))
		if again {
			due.Store(true)
		}
		if err != nil {
			return fmt.Errorf("replay %s: %w", r.ID, err)
		}
		return nil
	})
	err = errors.Join(errs...)
	return int(stored.Load()), due.Load() && err == nil, err
}

type reading struct {
	in     *Replayer
	replay *deadletter.Replay
	until  task.Instant
	stored int
}

// run stores batches until nothing is due, or reports true when the time is up.
func (p *reading) run(ctx context.Context) (more bool, err error) {
	for {
		source, err := p.in.store.FindSource(ctx, p.replay.Namespace, p.replay.Source)
		if err != nil {
			return false, err
		}
		if source == nil || p.in.opts.Carriers.Of(source) == nil {
			return false, p.end(ctx, "its source does not exist any more, or has another driver")
		}
		if p.in.Now() < p.replay.Progress.RetryAt {
			return false, nil
		}
		allowed := p.replay.Allowed(p.in.Now(), replayBatch)
		i := p.replay.NextPart()
		switch {
		case i < 0:
			return false, p.end(ctx, "")
		case allowed == 0:
			return false, nil
		}
		if err := p.batch(ctx, p.in.opts.Carriers.Of(source), source, i, allowed); err != nil {
			return false, p.trouble(ctx, err)
		}
		if p.replay, err = p.in.store.FindReplay(ctx, p.replay.ID); err != nil || p.replay == nil {
			return false, err
		}
		if p.replay.State != model.ReplayRunning || p.in.Now() >= p.until {
			return p.replay.State == model.ReplayRunning, nil
		}
	}
}

func (p *reading) batch(ctx context.Context, c seam.Carrier, source *deadletter.Source, i, allowed int) error {
	of, part := asReplayed(p.replay, source), p.replay.Progress.Parts[i]
	most, tasks := replayBatch, p.replay.Spec.Into == deadletter.ReplayIntoTasks
	if tasks {
		most = min(most, p.in.opts.IntakeBatch)
	}
	bounded, cancel := context.WithTimeout(ctx, replayTime)
	entries, next, err := c.ReadLog(bounded, of, p.replay.Spec.Topic, part, most)
	cancel()
	gone := (*seam.GoneError)(nil)
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	for _, e := range entries {
		if fault := p.in.SizeFault(e.Size); fault != "" && p.replay.Spec.Selects(e.Key, e.Headers) {
			return fmt.Errorf("the message at offset %d of partition %d %s", e.Offset, part.Partition, fault)
		}
	}
	arrivals, next := selected(p.replay, source, entries, next, allowed)
	step := replayStep{part: i, from: part.Next, to: next, counts: model.ReplayCounts{}}
	if gone != nil {
		step.counts.Gone = gone.Messages
	}
	switch {
	case len(arrivals) == 0:
		err = p.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return p.advance(ctx, tx, step) })
	case tasks:
		err = p.tasks(ctx, of, arrivals, step)
	default:
		_, err = p.in.capture.CaptureAlso(ctx, of, arrivals, func(ctx context.Context, tx engine.Tx,
			receipts []capture.Receipt,
		) error {
			step := step
			for _, r := range receipts {
				if r.Status == model.Duplicate {
					step.counts.Known++
				} else {
					step.counts.Letters++
				}
			}
			return p.advance(ctx, tx, step)
		})
	}
	if err != nil {
		return err
	}
	p.stored += len(arrivals)
	if gone != nil { // counted once: a batch that is not stored is read again
		p.in.opts.Gone(source.Namespace, source.Name, gone.Messages)
	}
	return nil
}

func asReplayed(r *deadletter.Replay, source *deadletter.Source) *deadletter.Source {
	of := *source
	if of.Queue = r.Spec.Topic; r.Spec.Into == deadletter.ReplayIntoInbox {
		of.Intake = nil
	} else if r.Spec.Intake != nil {
		of.Intake = r.Spec.Intake
	}
	return &of
}

func selected(r *deadletter.Replay, source *deadletter.Source, entries []seam.LogEntry, next int64, allowed int) (
	[]seam.Arrival, int64,
) {
	var arrivals []seam.Arrival
	for _, e := range entries {
		if !r.Spec.Selects(e.Key, e.Headers) {
			continue
		}
		if len(arrivals) == allowed {
			return arrivals, e.Offset
		}
		a := e.Arrival()
		if r.Spec.Topic != source.Queue { // its headers are of its send, and of no death
			a.Letter, a.Replays, a.Reread = task.ID{}, 0, true
			if a.Origin == "" { // it did not die
				a.Origin, a.Failure.Type, a.Failure.Message = r.Spec.Topic, Replayed, "read again from "+r.Spec.Topic
			}
		}
		arrivals = append(arrivals, a)
	}
	return arrivals, next
}

func (p *reading) tasks(ctx context.Context, of *deadletter.Source, arrivals []seam.Arrival, step replayStep) error {
	if of.Intake == nil {
		return fmt.Errorf("%w: the source %s has no intake any more", seam.ErrForGood, of.Name)
	}
	b := p.in.capture.TakeIn(of, intake.NewPlan(of), arrivals)
	repeatedAs(p.replay.Spec.Repeat, b.Orders)
	b.Also = func(ctx context.Context, tx engine.Tx, done capture.Intaken) error {
		step := step
		step.counts.Tasks, step.counts.Known = int64(done.Tasks), int64(done.Known)
		step.counts.Letters = int64(done.Letters)
		return p.advance(ctx, tx, step)
	}
	_, err := b.Store(ctx)
	return err
}

func repeatedAs(name string, orders []*intake.Task) {
	for _, t := range orders {
		if name != "" && t != nil && t.Key != "" {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(name), name, t.Key))
			t.Key = "replay:" + hex.EncodeToString(sum[:16])
		}
	}
}

type replayStep struct {
	part     int
	from, to int64
	counts   model.ReplayCounts
}

var errOvertaken = errors.New("another process carries the replay on")

// advance stores a batch's progress in its transaction, unless another process has. It locks the row of the replay
// after all others, since operators wait for it.
func (p *reading) advance(ctx context.Context, tx engine.Tx, step replayStep) error {
	r, err := p.in.store.Replay(ctx, tx, p.replay.ID)
	if err != nil {
		return err
	}
	if r == nil || r.Progress.Parts[step.part].Next != step.from {
		return errOvertaken
	}
	r.Progress.Parts[step.part].Next = step.to
	c := &r.Progress.Counts
	c.Letters, c.Tasks = c.Letters+step.counts.Letters, c.Tasks+step.counts.Tasks
	c.Known, c.Gone = c.Known+step.counts.Known, c.Gone+step.counts.Gone
	if r.State == model.ReplayRunning {
		r.Progress.Why = ""
	}
	r.Took(int(step.counts.Letters+step.counts.Tasks+step.counts.Known), p.in.Now())
	p.observe(tx, step.counts)
	return p.in.store.SaveReplay(ctx, tx, r)
}

func (p *reading) observe(tx engine.Tx, c model.ReplayCounts) {
	namespace, source := p.replay.Namespace, p.replay.Source
	tx.Handle().AfterCommit(func() {
		for result, n := range map[string]int64{"letter": c.Letters, "task": c.Tasks, "known": c.Known, "gone": c.Gone} {
			if n > 0 {
				p.in.Observer.Replayed(namespace, source, result, n)
			}
		}
	})
}

func (p *reading) trouble(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errOvertaken), ctx.Err() != nil:
		return nil
	case errors.Is(err, seam.ErrForGood), errors.Is(err, seam.ErrNoLog):
		return p.end(ctx, err.Error())
	}
	return p.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		r, read := p.running(ctx, tx)
		if read != nil || r == nil {
			return read
		}
		r.Progress.Why, r.Progress.RetryAt = failure.Cut(err.Error(), deadletter.MaxCause), p.in.Now().Add(replayPause)
		return p.in.store.SaveReplay(ctx, tx, r)
	})
}

// running returns the locked row of a running replay, or nil.
func (p *reading) running(ctx context.Context, tx engine.Tx) (*deadletter.Replay, error) {
	r, err := p.in.store.Replay(ctx, tx, p.replay.ID)
	if err != nil || r == nil || r.State != model.ReplayRunning {
		return nil, err
	}
	return r, nil
}

func (p *reading) end(ctx context.Context, why string) error {
	return p.in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		r, err := p.running(ctx, tx)
		if err != nil || r == nil {
			return err
		}
		a := desk.Act{Kind: "end_replay", By: desk.By{Actor: engine.System, Reason: "all of the range is read"}}
		if why == "" {
			err = r.Move(model.ReplayDone, p.in.Now(), "ended")
		} else {
			err = r.Fail(why, p.in.Now())
			a.Kind, a.By.Reason = "fail_replay", r.Progress.Why
		}
		if err != nil {
			return err
		}
		return errors.Join(p.in.store.SaveReplay(ctx, tx, r), p.in.actedOnReplay(ctx, tx, r, model.ReplayRunning, a))
	})
}
