package redrive

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// stream sends the items of a wave that may be sent now, batch by batch. It records a batch while it marks and sends
// the next one, since both mostly wait for the database and the broker. At most two batches have unrecorded marks,
// which SendDue finds if the process ends.
//
// It marks the next batch before it counts the results only where they cannot change the decision: without a rate, and
// while every send succeeds. It looks at returns and acts of operators between batches in either case.
type stream struct {
	*runner

	left      int
	behind    int
	recording *recording
}

type recording struct {
	*runner

	ended chan error
}

// send decides up to n items: it sends letters in batches and replays cases one by one, or notes why not. After an
// error the other items stay pending, or marked for SendDue.
func (r *runner) send(ctx context.Context, n int) error {
	s := &stream{runner: r, left: n, behind: r.redrive.Behind}
	var err error
	for more := true; more && err == nil; {
		more, err = s.batch(ctx)
	}
	return errors.Join(err, s.recorded())
}

func (s *stream) batch(ctx context.Context) (more bool, err error) {
	first, size := s.recording == nil, s.in.Batch
	if !first { // all sends so far succeeded, and a large batch costs less per letter
		size *= 2
	}
	items, err := s.in.store.ListItems(ctx, s.redrive.ID, model.ItemPending, s.behind, min(s.left, size))
	letters, cases := s.inWave(items)
	switch {
	case err != nil:
		return false, err
	case len(items) == 0 && first: // nothing is left, whatever the row says
		return false, s.end(ctx)
	case s.redrive.Operation != model.OpRedrive && first:
		return false, s.change(ctx, items)
	case !first && len(letters) == 0:
		return false, nil
	}
	b := s.in.outbox.NewBatch(s.turn, s.redrive, letters)
	var outcomes []outbox.Outcome
	if len(letters) > 0 {
		if err := b.Mark(ctx); err != nil {
			return false, errors.Join(err, s.recorded())
		}
		if s.redrive = b.Redrive; !s.redrive.State.Active() {
			return false, nil // an operator came first; nothing is marked
		}
		outcomes = s.in.outbox.SendMarked(ctx, b.Sending)
	}
	if err := s.recorded(); err != nil {
		return false, errors.Join(err, s.record(ctx, outcomes, b.Decided, s.behind))
	}
	s.left, s.behind = s.left-len(items), items[len(items)-1].No
	if len(cases)+len(b.Left) == 0 && s.left > 0 && s.redrive.Plan.Rate <= 0 && allSent(outcomes, b.Decided) {
		s.recordBehind(ctx, outcomes)
		return s.goesOn(ctx)
	}
	done, left, err := s.onCases(ctx, cases, s.replay)
	left = slices.Concat(left, b.Left, untried(outcomes))
	slices.SortFunc(left, func(a, b deadletter.Item) int { return a.No - b.No })
	err = errors.Join(err, s.record(ctx, outcomes, append(b.Decided, done...), behind(items, left)))
	if err == nil && len(outcomes) > 0 && len(untried(outcomes)) == len(outcomes) && ctx.Err() == nil {
		err = s.stuck(ctx, outcomes[0].Err)
	}
	return false, err
}

func untried(outcomes []outbox.Outcome) (left []deadletter.Item) {
	for _, o := range outcomes {
		if errors.Is(o.Err, seam.ErrNotTried) && o.Send.Copies == 0 {
			left = append(left, o.Item)
		}
	}
	return left
}

// stuck halts a redrive that could begin no message: its destinations take nothing.
func (s *stream) stuck(ctx context.Context, why error) error {
	return s.apply(ctx, deadletter.Step{Act: deadletter.ActHalt,
		Reason: "not one of a batch of items could be sent: " + desk.ItemMessage(why)})
}

func allSent(outcomes []outbox.Outcome, decided []deadletter.Item) bool {
	return len(decided) == 0 && !slices.ContainsFunc(outcomes, func(o outbox.Outcome) bool {
		return o.Err != nil || o.Item.Uncertain
	})
}

func (s *stream) goesOn(ctx context.Context) (bool, error) {
	if ctx.Err() != nil || s.in.Now() >= s.until {
		return false, nil
	}
	var outcome deadletter.Outcome
	troubled, err := s.in.store.WaveTroubled(ctx, s.redrive.ID, s.redrive.Wave)
	if troubled { // otherwise no stop rule applies, and a large wave need not be counted
		outcome, err = s.in.store.WaveOutcome(ctx, s.redrive.ID, s.redrive.Wave)
	}
	return err == nil && s.redrive.Next(s.in.Now(), outcome).Act == deadletter.ActSend, err
}

func (s *stream) recordBehind(ctx context.Context, outcomes []outbox.Outcome) {
	row, last := *s.redrive, s.behind
	rec := &recording{runner: &runner{in: s.in, turn: s.turn, redrive: &row}, ended: make(chan error, 1)}
	s.recording = rec
	go func() { rec.ended <- rec.record(ctx, outcomes, nil, last) }()
}

func (s *stream) recorded() error {
	rec := s.recording
	if rec == nil {
		return nil
	}
	s.recording = nil
	err := <-rec.ended
	s.decided += rec.decided
	if rec.redrive.Version > s.redrive.Version {
		s.redrive = rec.redrive
	}
	return err
}

func behind(items, left []deadletter.Item) int {
	if len(left) > 0 {
		return left[0].No - 1
	}
	return items[len(items)-1].No
}
