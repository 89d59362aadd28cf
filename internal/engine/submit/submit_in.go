package submit

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// PreparedSubmit is a checked and admitted call of Submit, for the caller's transaction.
type PreparedSubmit struct {
	entry    *reservation
	receipts []Receipt // of the last run
	refused  []Receipt // of all submissions, with the errors of invalid ones
}

// PrepareSubmit checks submissions, stores their templates and routes, and counts them as under way until Release. It
// must not be called inside Write, because it may begin a transaction. One invalid submission refuses all. Its errors
// are those of Submit.
func (e *Room) PrepareSubmit(ctx context.Context, subs []Submission) (*PreparedSubmit, error) {
	return e.prepareSubmit(ctx, subs, false)
}

// With itemErrors an invalid submission refuses only itself.
func (e *Room) prepareSubmit(ctx context.Context, subs []Submission, itemErrors bool) (*PreparedSubmit, error) {
	refused, drafts, err := e.drafts(ctx, subs, itemErrors)
	if err != nil {
		return nil, err
	}
	entry, err := e.Backpressure.reserve(ctx, drafts, false)
	if err != nil {
		return nil, err
	}
	return &PreparedSubmit{entry: entry, refused: refused}, nil
}

// Release ends PrepareSubmit, once; err is the result of the transaction.
func (p *PreparedSubmit) Release(err error) {
	if err != nil {
		p.receipts = nil
	}
	p.entry.release(p.receipts)
}

// SubmitIn stores prepared submissions in the caller's transaction, and answers in order. It may be called once in
// each run. ErrReplaced: the database was replaced, so prepare again. It waits for a locked key, because the
// transaction is open anyway.
func (e *Room) SubmitIn(ctx context.Context, tx kernel.Tx, p *PreparedSubmit) ([]Receipt, error) {
	drafts := p.entry.admitted
	if len(drafts) == 0 {
		return nil, nil
	}
	receipts := make([]Receipt, len(drafts))
	err := e.In(tx)(ctx, "submit", func(u *kernel.Unit) error {
		b := &Builder{U: u}
		if err := ExpectKnown(u, drafts); err != nil {
			return err
		}
		if err := b.reserve(drafts, true); err != nil {
			return err
		}
		for i, d := range drafts {
			var err error
			if receipts[i], err = b.Add(d); err != nil {
				return err
			}
		}
		b.completeReceipts(drafts, receipts)
		if len(b.Tasks) == 0 {
			return nil
		}
		if u.External { // the survey may have passed by the commit
			for _, t := range b.Tasks {
				kernel.MustWatch(u, t, task.Errored)
			}
		}
		if err := u.Ready.Pass(u.Queues); err != nil { // before the store reuses the steps
			return err
		}
		return u.Tx.InsertTasks(u.Ctx, b.Tasks, b.Steps)
	})
	if err != nil {
		return nil, err
	}
	p.receipts = receipts
	return slices.Clone(receipts), nil
}

// SubmitWithin is Submit in a transaction that write begins or joins: write runs its argument there, and returns the
// result. It runs again if the database was replaced.
func (e *Room) SubmitWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, kernel.Tx) error) error,
) ([]Receipt, error) {
	receipts, err := e.submitWithin(ctx, subs, write)
	if errors.Is(err, kernel.ErrReplaced) {
		e.Forget()
		receipts, err = e.submitWithin(ctx, subs, write)
	}
	return receipts, err
}

func (e *Room) submitWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, kernel.Tx) error) error,
) (receipts []Receipt, err error) {
	prepared, err := e.PrepareSubmit(ctx, subs)
	if err != nil {
		return nil, err
	}
	defer func() { prepared.Release(err) }()
	err = write(func(ctx context.Context, tx kernel.Tx) error {
		receipts, err = e.SubmitIn(ctx, tx, prepared)
		return err
	})
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// SubmitEachWithin is SubmitWithin with the refusals of single submissions in their receipts. submit returns the
// receipts, in the transaction. Back-pressure refuses all or none, before write.
func (e *Room) SubmitEachWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, kernel.Tx) ([]Receipt, error)) error,
) error {
	err := e.submitEachWithin(ctx, subs, write)
	if errors.Is(err, kernel.ErrReplaced) {
		e.Forget()
		err = e.submitEachWithin(ctx, subs, write)
	}
	return err
}

func (e *Room) submitEachWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, kernel.Tx) ([]Receipt, error)) error,
) (err error) {
	prepared, err := e.prepareSubmit(ctx, subs, true)
	if err != nil {
		return err
	}
	defer func() { prepared.Release(err) }()
	return write(func(ctx context.Context, tx kernel.Tx) ([]Receipt, error) {
		stored, err := e.SubmitIn(ctx, tx, prepared)
		if err != nil {
			return nil, err
		}
		receipts := slices.Clone(prepared.refused)
		for i, d := range prepared.entry.admitted {
			receipts[d.place] = stored[i]
		}
		return receipts, nil
	})
}
