package compat

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Retry is the result of a message to send back.
type Retry struct {
	State RetryState
	Why   string
}

// RetryState is the state of a retry.
type RetryState string

// The states of retries.
const (
	RetrySuccess RetryState = "success"
	RetryFailed  RetryState = "failed"
	RetryPending RetryState = "pending" // sent later; its redrive continues
)

// RetryMessages sends messages back, as FindMessage finds them, and returns the results in order. It waits for all, 25
// seconds at most. A failure holds up no other.
//
// A letter that was sent back or discarded is opened and sent again; for a discarded one the key needs the permission
// to restore. Parked letters are sent too, since they were named.
func (in *Views) RetryMessages(ctx context.Context, namespace, source string, ids []string, by desk.By) ([]Retry,
	error,
) {
	if err := desk.Reach(ctx, namespace); err != nil {
		return nil, err
	}
	by, err := desk.Signed(ctx, by)
	if err != nil {
		return nil, err
	}
	out, letters, first := make([]Retry, len(ids)), make([]task.ID, len(ids)), map[string]int{}
	for i, id := range ids {
		if at, twice := first[id]; twice {
			out[i], letters[i] = out[at], letters[at]
			continue
		}
		first[id] = i
		l, err := in.FindMessage(ctx, namespace, source, id)
		switch code := task.CodeOf(err); {
		case err == nil:
			letters[i] = l.ID
		case code == task.NotFound, code == task.Conflict:
			out[i] = Retry{State: RetryFailed, Why: desk.ItemMessage(err)}
		default:
			return nil, err
		}
	}
	found := slices.DeleteFunc(slices.Clone(letters), task.ID.IsZero)
	results, err := in.retryLetters(ctx, namespace, desk.SortIDs(found), by)
	if err != nil {
		return nil, err
	}
	for i, id := range letters {
		if !id.IsZero() {
			out[i] = results[id]
		}
	}
	return out, nil
}

func (in *Views) retryLetters(ctx context.Context, namespace string, ids []task.ID, by desk.By) (map[task.ID]Retry,
	error,
) {
	results := map[task.ID]Retry{}
	letters, err := in.reopen(ctx, ids, by, results)
	if err != nil {
		return nil, err
	}
	made, err := in.sendAtOnce(ctx, redrive.Request{By: by, IncludeParked: true, EachItem: true,
		Selection: deadletter.Selection{Namespace: namespace}}, letters, &Requeued{}, func(ids []task.ID, err error) error {
		why := desk.ItemMessage(err)
		switch refused := (*task.Error)(nil); task.CodeOf(err) {
		case task.Conflict:
			why = "another request is sending it back"
		case task.Invalid:
			if errors.As(err, &refused) && len(refused.Problems) > 0 {
				why = refused.Problems[0].Message
			}
		default:
			return err
		}
		for _, id := range ids {
			results[id] = Retry{State: RetryFailed, Why: why}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, redrive := range made {
		items, err := in.store.ListItems(context.WithoutCancel(ctx), redrive, "", 0, deadletter.MaxSelectionIDs)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			results[i.ID] = retryOf(i)
		}
	}
	for _, id := range ids {
		if results[id].State == "" { // it left the state between two transactions
			results[id] = Retry{State: RetryFailed, Why: "another request has changed it"}
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

func (in *Views) reopen(ctx context.Context, ids []task.ID, by desk.By, results map[task.ID]Retry) (lettersByState,
	error,
) {
	key := access.From(ctx) // nil: a server without keys
	may := key == nil || key.Can(access.DeadLettersDiscard)
	var open lettersByState
	err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		open = lettersByState{}
		clear(results)
		// Whole: whether a cut letter may be sent depends on its edit.
		_, err := in.letters.ChangeStates(ctx, tx, in.store.Letters, ids, func(l *deadletter.Letter) error {
			was, ended, why := l.State, !slices.Contains(inQueue, l.State), ""
			if ended && was == model.LetterDiscarded && !may {
				why = "it is discarded, and to restore it needs the permission " + string(access.DeadLettersDiscard)
			} else if ended {
				if err := l.Restore(in.Now()); err != nil {
					why = desk.ItemMessage(err)
				} else if err := in.Act(ctx, tx, desk.Act{Kind: "restore_letter", By: by, Namespace: l.Namespace,
					Of: l.ID.String(), From: string(was), To: string(l.State)}); err != nil {
					return err
				}
			}
			if why == "" {
				why, _ = l.MaySend(true)
			}
			if why != "" {
				results[l.ID] = Retry{State: RetryFailed, Why: why}
				return nil
			}
			open[l.State] = append(open[l.State], l.ID)
			return nil
		})
		return err
	})
	return open, err
}
