package inbox

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// Retry is what became of a message that was to be sent back.
type Retry struct {
	Letter task.ID // zero if there is none
	State  RetryState
	Why    string // of a failed one
}

// RetryState is how far a retry is.
type RetryState string

// The states of retries.
const (
	RetrySuccess RetryState = "success" // it was sent
	RetryFailed  RetryState = "failed"
	RetryPending RetryState = "pending" // it is sent later; its redrive goes on
)

// RetryMessages sends messages back, as FindMessage finds them, and returns what became of each, in their order. One
// that cannot be sent holds no other up. It waits until all are sent, 25 seconds at most.
//
// A letter that was sent back or discarded is opened and sent again; for a discarded one the key needs the permission
// to restore. A letter that is parked is sent, because it was named. Each ID counts once in a call.
func (in *Inbox) RetryMessages(ctx context.Context, namespace, source string, ids []string, by By) ([]Retry, error) {
	if err := reach(ctx, namespace); err != nil {
		return nil, err
	}
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	out, byID := make([]Retry, len(ids)), map[string]Retry{}
	var letters []task.ID
	for _, id := range ids {
		if _, twice := byID[id]; twice {
			continue
		}
		l, err := in.FindMessage(ctx, namespace, source, id)
		if code := task.CodeOf(err); err != nil && code != task.NotFound && code != task.Conflict {
			return nil, err
		}
		if err != nil {
			byID[id] = Retry{State: RetryFailed, Why: itemMessage(err)}
			continue
		}
		byID[id] = Retry{Letter: l.ID}
		if !slices.Contains(letters, l.ID) {
			letters = append(letters, l.ID)
		}
	}
	results, err := in.retryLetters(ctx, namespace, letters, by)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		out[i] = byID[id]
		if !out[i].Letter.IsZero() {
			r := results[out[i].Letter]
			out[i].State, out[i].Why = r.State, r.Why
		}
	}
	return out, nil
}

// retryLetters opens letters that ended, sends all back, and returns the results by ID.
func (in *Inbox) retryLetters(ctx context.Context, namespace string, ids []task.ID, by By) (map[task.ID]Retry, error) {
	results := map[task.ID]Retry{}
	if len(ids) == 0 {
		return results, nil
	}
	letters, err := in.reopen(ctx, ids, by, results)
	if err != nil {
		return nil, err
	}
	var made []task.ID
	for _, state := range inQueue {
		for part := range slices.Chunk(letters[state], deadletter.MaxSelectionIDs) {
			r, err := in.sendAtOnce(ctx, by, RedriveRequest{IncludeParked: true, EachItem: true,
				Selection: deadletter.Selection{Namespace: namespace, State: state, IDs: part}})
			if err == nil {
				made = append(made, r.ID)
				continue
			}
			why := itemMessage(err)
			if code := task.CodeOf(err); code == task.Conflict {
				why = "another request is sending it back"
			} else if code != task.Invalid {
				return nil, err
			} else if refused := (*task.Error)(nil); errors.As(err, &refused) && len(refused.Problems) > 0 {
				why = refused.Problems[0].Message
			}
			for _, id := range part {
				results[id] = Retry{State: RetryFailed, Why: why}
			}
		}
	}
	wait, cancel := context.WithTimeout(ctx, requeueTime)
	defer cancel()
	for _, id := range made {
		var sums Requeued
		if err := in.awaitRequeue(wait, id, by, &sums); err != nil {
			return nil, err
		}
		items, err := in.store.ListItems(context.WithoutCancel(ctx), id, "", 0, deadletter.MaxSelectionIDs)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			results[i.ID] = retryOf(i)
		}
	}
	for _, part := range letters {
		for _, id := range part {
			if results[id].State == "" { // it left the state between two transactions
				results[id] = Retry{State: RetryFailed, Why: "another request has changed it"}
			}
		}
	}
	return results, nil
}

func retryOf(i deadletter.Item) Retry {
	switch i.State {
	case model.ItemSent, model.ItemReturned, model.ItemCompleted:
		return Retry{State: RetrySuccess}
	case model.ItemPending, model.ItemSending, model.ItemUnknown:
		return Retry{State: RetryPending}
	}
	return Retry{State: RetryFailed, Why: i.Message}
}

// reopen opens letters that were sent back or discarded, in one transaction, and returns those that can be sent by
// their states. The others get a result.
func (in *Inbox) reopen(ctx context.Context, ids []task.ID, by By, results map[task.ID]Retry) (
	map[model.LetterState][]task.ID, error,
) {
	key := access.From(ctx) // nil: a server without keys
	may := key == nil || key.Can(access.DeadLettersDiscard)
	var open map[model.LetterState][]task.ID
	err := in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		open = map[model.LetterState][]task.ID{}
		clear(results)
		letters, err := in.store.Letters(ctx, tx, sortIDs(slices.Clone(ids)))
		if err != nil {
			return err
		}
		var changed changedLetters
		for _, l := range letters {
			was := l.State
			if !slices.Contains(inQueue, was) {
				if was == model.LetterDiscarded && !may {
					results[l.ID] = Retry{State: RetryFailed,
						Why: "it is discarded, and to restore it needs the permission " + string(access.DeadLettersDiscard)}
					continue
				}
				if err := l.Restore(in.now()); err != nil {
					results[l.ID] = Retry{State: RetryFailed, Why: itemMessage(err)}
					continue
				}
				changed.add(l, was)
				if err := in.act(ctx, tx, act{kind: "restore_letter", by: by, namespace: l.Namespace,
					of: l.ID.String(), from: string(was), to: string(l.State)}); err != nil {
					return err
				}
			}
			if why, ok := l.MaySend(true); !ok {
				results[l.ID] = Retry{State: RetryFailed, Why: why}
				continue
			}
			open[l.State] = append(open[l.State], l.ID)
		}
		return changed.save(ctx, tx, in)
	})
	return open, err
}
