package engine

import (
	"context"
	"errors"
	"slices"

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
func (e *Engine) PrepareSubmit(ctx context.Context, subs []Submission) (*PreparedSubmit, error) {
	return e.prepareSubmit(ctx, subs, false)
}

// With itemErrors an invalid submission refuses only itself.
func (e *Engine) prepareSubmit(ctx context.Context, subs []Submission, itemErrors bool) (*PreparedSubmit, error) {
	refused, drafts, err := e.drafts(ctx, subs, itemErrors)
	if err != nil {
		return nil, err
	}
	entry, err := e.pressure.reserve(ctx, drafts, false)
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
func (e *Engine) SubmitIn(ctx context.Context, tx Tx, p *PreparedSubmit) ([]Receipt, error) {
	drafts := p.entry.admitted
	if len(drafts) == 0 {
		return nil, nil
	}
	receipts := make([]Receipt, len(drafts))
	err := e.in(tx)(ctx, "submit", func(u *unit) error {
		b := &builder{u: u}
		if err := u.expectKnown(drafts); err != nil {
			return err
		}
		if err := b.reserve(drafts, true); err != nil {
			return err
		}
		for i, d := range drafts {
			var err error
			if receipts[i], err = b.add(d); err != nil {
				return err
			}
		}
		b.completeReceipts(drafts, receipts)
		if len(b.tasks) == 0 {
			return nil
		}
		if u.external { // the survey may have passed by the commit
			for _, t := range b.tasks {
				mustWatch(u, t, task.Errored)
			}
		}
		if err := u.ready.pass(u.queues); err != nil { // before the store reuses the steps
			return err
		}
		return u.tx.InsertTasks(u.ctx, b.tasks, b.steps)
	})
	if err != nil {
		return nil, err
	}
	p.receipts = receipts
	return slices.Clone(receipts), nil
}

// SubmitWithin is Submit in a transaction that write begins or joins: write runs its argument there, and returns the
// result. It runs again if the database was replaced.
func (e *Engine) SubmitWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, Tx) error) error,
) ([]Receipt, error) {
	receipts, err := e.submitWithin(ctx, subs, write)
	if errors.Is(err, ErrReplaced) {
		e.forget()
		receipts, err = e.submitWithin(ctx, subs, write)
	}
	return receipts, err
}

func (e *Engine) submitWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, Tx) error) error,
) (receipts []Receipt, err error) {
	prepared, err := e.PrepareSubmit(ctx, subs)
	if err != nil {
		return nil, err
	}
	defer func() { prepared.Release(err) }()
	err = write(func(ctx context.Context, tx Tx) error {
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
func (e *Engine) SubmitEachWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, Tx) ([]Receipt, error)) error,
) error {
	err := e.submitEachWithin(ctx, subs, write)
	if errors.Is(err, ErrReplaced) {
		e.forget()
		err = e.submitEachWithin(ctx, subs, write)
	}
	return err
}

func (e *Engine) submitEachWithin(ctx context.Context, subs []Submission,
	write func(submit func(context.Context, Tx) ([]Receipt, error)) error,
) (err error) {
	prepared, err := e.prepareSubmit(ctx, subs, true)
	if err != nil {
		return err
	}
	defer func() { prepared.Release(err) }()
	return write(func(ctx context.Context, tx Tx) ([]Receipt, error) {
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
