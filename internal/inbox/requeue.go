package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// time that a request waits for its redrives
	requeueTime, requeueEvery = 25 * time.Second, 25 * time.Millisecond
	oldestTries               = 4
)

// requeueStop halts a request's redrive only when the broker takes nothing. A sent message that dies again is no
// reason: it was to be sent once.
var requeueStop = deadletter.StopRule{ReturnedShare: 1, SamePrint: deadletter.MaxWave, Failed: 1000}

// Requeue asks to send letters of a queue back: a named one, or the oldest.
type Requeue struct {
	desk.By
	Letter        task.ID
	Limit         int // of unnamed letters: 1 to deadletter.MaxWave
	IncludeParked bool
	Destination   string // "": their origins
}

// Requeued is the result of a Requeue.
type Requeued struct {
	Destination string // "": the origins of the letters
	Sent        int
	Failed      int // refused by the broker, now open
	Pending     int // unsent when the time was up: their redrives continue
	Skipped     int // others were faster
	Parked      int // left out; counted only if nothing was sent
	More        bool
	Why         string
	Redrives    []task.ID
}

type lettersByState map[model.LetterState][]task.ID

// Requeue sends letters of a queue back by redrives of one wave, and waits 25 seconds at most; the redrives send the
// rest later.
//
// Without a name it takes the oldest that are not parked. NotFound: the queue has no such letter. Conflict: nothing was
// sent; the source does not allow the destination, or it does not exist, or refuses them. Unavailable: the broker does
// not answer.
func (in *Inbox) Requeue(ctx context.Context, q *Queue, req Requeue) (Requeued, error) {
	out := Requeued{Destination: req.Destination}
	// The name of a dead letter queue tells where its letters came from.
	if origin := q.Origin(); out.Destination == "" && origin != "" && q.Source.Allows(origin, "") {
		out.Destination = origin
	}
	// Nothing could be sent, and letters that are only on the broker would be missed.
	if err := in.catchUp(ctx, q.Source); err != nil {
		return out, err
	}
	if !req.Letter.IsZero() {
		l, err := in.QueueLetter(ctx, q, req.Letter)
		if err != nil {
			return out, err
		}
		req.IncludeParked = true
		if !slices.Contains(inQueue, l.State) {
			return out, desk.Hinted(task.WrongState, "only an open or a scheduled letter can be sent back",
				"the letter %s is %s",
				l.ID, l.State)
		}
		return out, in.requeue(ctx, q, &req, lettersByState{l.State: {l.ID}}, &out)
	}
	for range oldestTries {
		letters, err := in.oldest(ctx, q, &req, &out)
		if err != nil {
			return out, err
		}
		if len(letters) == 0 {
			break
		}
		err = in.requeue(ctx, q, &req, letters, &out)
		if err != nil || req.Limit > 1 || out.Sent+out.Failed+out.Pending > 0 {
			return out, err
		}
	}
	f := q.filter(inQueue...)
	f.Parked, f.Limit = new(true), CountedLetters
	parked, err := in.store.OldestLetters(ctx, f)
	out.Parked = len(parked)
	return out, err
}

// QueueLetter returns a letter of a queue whole, in any state; NotFound for one of another queue.
func (in *Inbox) QueueLetter(ctx context.Context, q *Queue, id task.ID) (*deadletter.Letter, error) {
	l, err := in.store.FindLetter(ctx, id)
	if err == nil && (l == nil || l.Namespace != q.Source.Namespace || l.Source != q.Source.Name) {
		err = task.Errorf(task.NotFound, "the queue %s has no letter %s", q.Name, id)
	}
	return l, err
}

func (in *Inbox) oldest(ctx context.Context, q *Queue, req *Requeue, out *Requeued) (lettersByState, error) {
	f := q.filter(inQueue...)
	if f.Limit = req.Limit + 1; !req.IncludeParked {
		f.Parked = new(false)
	}
	all, err := in.store.OldestLetters(ctx, f)
	if err != nil {
		return nil, err
	}
	f.States = []model.LetterState{model.LetterScheduled}
	scheduled, err := in.store.OldestLetters(ctx, f)
	if err != nil {
		return nil, err
	}
	out.More = len(all) > req.Limit
	by := lettersByState{}
	for _, id := range all[:min(len(all), req.Limit)] {
		state := model.LetterOpen
		if _, ok := slices.BinarySearchFunc(scheduled, id, desk.CompareIDs); ok {
			state = model.LetterScheduled
		}
		by[state] = append(by[state], id)
	}
	return by, nil
}

func (in *Inbox) requeue(ctx context.Context, q *Queue, req *Requeue, letters lettersByState, out *Requeued) error {
	order := RedriveRequest{By: req.By, Destination: out.Destination, IncludeParked: req.IncludeParked,
		// A named destination is checked now. Otherwise one letter without an origin must not hold up others.
		EachItem:  req.Destination == "",
		Selection: deadletter.Selection{Namespace: q.Source.Namespace, Source: q.Source.Name}}
	made, err := in.sendAtOnce(ctx, order, letters, out, func(ids []task.ID, err error) error {
		if task.CodeOf(err) != task.Conflict {
			return requeueRefused(q, err)
		}
		out.Skipped += len(ids)
		return nil
	})
	if out.Redrives = append(out.Redrives, made...); err != nil {
		return err
	}
	if out.Sent+out.Pending == 0 && out.Failed > 0 {
		if _, err := in.waiting(ctx, q.Source); err != nil {
			return err
		}
		return desk.Hinted(task.Conflict, "the jobs are still in "+q.Name, "no job was requeued: %s", out.Why)
	}
	return nil
}

// requeueRefused turns the refusal of a redrive into one about the letters and the source: the fields of the redrive
// are not in the caller's request.
func requeueRefused(q *Queue, err error) error {
	var e *task.Error
	if task.CodeOf(err) != task.Invalid || !errors.As(err, &e) || len(e.Problems) == 0 {
		return err
	}
	why := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		why[i] = p.Message
	}
	return desk.Hinted(task.Conflict, "see tasker source list", "no job of %s was requeued: %s", q.Name,
		strings.Join(why, "; "))
}

// sendAtOnce creates and starts redrives of one wave without an observation, waits for them, and adds up the results.
// refused decides about the letters of a refused redrive.
func (in *Inbox) sendAtOnce(ctx context.Context, req RedriveRequest, letters lettersByState, out *Requeued,
	refused func([]task.ID, error) error,
) (made []task.ID, err error) {
	req.By = desk.By{Actor: req.Actor, Reason: req.Reason}
	req.Operation, req.Stop, req.Start = model.OpRedrive, requeueStop, true
	req.Selection.Kind = model.KindLetter
	for _, state := range inQueue {
		for ids := range slices.Chunk(letters[state], deadletter.MaxSelectionIDs) {
			req.Selection.State, req.Selection.IDs = state, ids
			req.Plan = deadletter.Plan{Canary: len(ids), Largest: len(ids), Observe: deadletter.NoObservation}
			r, err := in.CreateRedrive(ctx, req)
			if err == nil {
				made = append(made, r.ID)
			} else if err := refused(ids, err); err != nil {
				return made, err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, requeueTime)
	defer cancel()
	for _, id := range made {
		if err := in.awaitRequeue(ctx, id, req.By, out); err != nil {
			return made, err
		}
	}
	return made, nil
}

// awaitRequeue waits for the end of a redrive, or of ctx, and adds its results. It cancels a halted redrive, which
// nobody would resume.
func (in *Inbox) awaitRequeue(ctx context.Context, id task.ID, by desk.By, out *Requeued) error {
	still := context.WithoutCancel(ctx)
	for {
		r, err := in.store.FindRedrive(still, id)
		switch {
		case err != nil:
			return err
		case r == nil:
			return noRedrive(id)
		case r.State == model.RedriveHalted:
			_, err := in.ActOnRedrive(still, id, model.CancelRedrive, by)
			if err != nil && task.CodeOf(err) != task.WrongState {
				return err
			}
			continue
		case r.State.Ended() || ctx.Err() != nil:
			return in.addRequeued(still, r, out)
		}
		select {
		case <-ctx.Done():
		case <-time.After(requeueEvery):
		}
	}
}

func (in *Inbox) addRequeued(ctx context.Context, r *deadletter.Redrive, out *Requeued) error {
	n, err := in.store.CountItems(ctx, r)
	if err != nil {
		return err
	}
	out.Sent += n.Sent + n.Returned + n.Completed
	out.Failed += n.Failed
	out.Skipped += n.Skipped
	if r.State == model.RedriveCancelled {
		out.Failed += n.Pending // its stop rule had halted it
	} else {
		out.Pending += n.Pending + n.Sending + n.Unknown
	}
	if n.Failed > 0 && out.Why == "" {
		items, err := in.store.ListItems(ctx, r.ID, model.ItemFailed, 0, 1)
		if err != nil || len(items) == 0 {
			return err
		}
		out.Why = items[0].Message
	}
	return nil
}

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
func (in *Inbox) RetryMessages(ctx context.Context, namespace, source string, ids []string, by desk.By) ([]Retry,
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

func (in *Inbox) retryLetters(ctx context.Context, namespace string, ids []task.ID, by desk.By) (map[task.ID]Retry,
	error,
) {
	results := map[task.ID]Retry{}
	letters, err := in.reopen(ctx, ids, by, results)
	if err != nil {
		return nil, err
	}
	made, err := in.sendAtOnce(ctx, RedriveRequest{By: by, IncludeParked: true, EachItem: true,
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

func (in *Inbox) reopen(ctx context.Context, ids []task.ID, by desk.By, results map[task.ID]Retry) (lettersByState,
	error,
) {
	key := access.From(ctx) // nil: a server without keys
	may := key == nil || key.Can(access.DeadLettersDiscard)
	var open lettersByState
	err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		open = lettersByState{}
		clear(results)
		// Whole: whether a cut letter may be sent depends on its edit.
		_, err := in.changeStates(ctx, tx, in.store.Letters, ids, func(l *deadletter.Letter) error {
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
