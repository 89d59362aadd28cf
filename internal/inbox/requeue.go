package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

const (
	// requeueTime is how long a request waits for its redrives, and requeueEvery how often it looks at them.
	requeueTime, requeueEvery = 25 * time.Second, 25 * time.Millisecond
	// oldestTries is how often the oldest letter is tried when another request takes it first.
	oldestTries = 4
)

// requeueStop ends a redrive of a request only when the broker takes nothing, so that it is not asked for each letter.
// What was sent and died again is no reason: it was to be sent once.
var requeueStop = deadletter.StopRule{ReturnedShare: 1, SamePrint: deadletter.MaxWave, Failed: 1000}

// Requeue asks to send letters of a queue back: those that are named, or the oldest ones.
type Requeue struct {
	By
	Letter task.ID // zero: the oldest
	// Limit bounds the letters when none is named: 1 to deadletter.MaxWave.
	Limit         int
	IncludeParked bool
	// Destination is where they are sent; "" means to their origins.
	Destination string
}

// Requeued is what became of a Requeue.
type Requeued struct {
	Destination string // "": the origins of the letters
	Sent        int
	Failed      int // letters that the broker did not take; they are open
	Pending     int // that were not sent when the time was up: their redrives go on
	Skipped     int // that others were faster with
	Parked      int // left out; counted only if nothing was sent
	// More: there are more letters than the limit.
	More     bool
	Why      string // the first failure
	Redrives []task.ID
}

// Requeue sends letters of a queue back: each time as a redrive of one wave without an observation, which it creates,
// starts and waits for, 25 seconds at most. What is not sent by then is sent later. A letter is open, sent or marked at
// every moment, whatever fails.
//
// Without a name it takes the oldest that are not parked. NotFound: the queue has no such letter. Conflict: nothing was
// sent; the source does not allow the destination, or it does not exist, or refuses them. Unavailable: the broker does
// not answer.
func (in *Inbox) Requeue(ctx context.Context, q *Queue, req Requeue) (Requeued, error) {
	out := Requeued{Destination: in.requeueTarget(q, req.Destination)}
	// Nothing could be sent, and what is on the broker only would be missed.
	if err := in.catchUp(ctx, q.Source); err != nil {
		return out, err
	}
	if !req.Letter.IsZero() {
		l, err := in.QueueLetter(ctx, q, req.Letter)
		if err != nil {
			return out, err
		}
		req.IncludeParked = true // it was named
		if !slices.Contains(inQueue, l.State) {
			return out, &task.Error{Code: task.WrongState, Message: "the letter " + l.ID.String() + " is " + string(l.State),
				Hint: "only an open or a scheduled letter can be sent back"}
		}
		return out, in.requeue(ctx, q, &req, map[model.LetterState][]task.ID{l.State: {l.ID}}, &out)
	}
	for range oldestTries {
		ids, err := in.oldest(ctx, q, &req, &out)
		if err != nil {
			return out, err
		}
		if len(ids) == 0 {
			break
		}
		err = in.requeue(ctx, q, &req, ids, &out)
		if err != nil || req.Limit > 1 || out.Sent+out.Failed+out.Pending > 0 {
			return out, err
		}
	}
	yes := true
	parked, err := in.store.OldestLetters(ctx, QueueFilter{Namespace: q.Source.Namespace, Source: q.Source.Name,
		States: inQueue, Parked: &yes, Limit: CountedLetters})
	out.Parked = len(parked)
	return out, err
}

// QueueLetter returns a letter of a queue whole, in whichever state; NotFound for one of another queue.
func (in *Inbox) QueueLetter(ctx context.Context, q *Queue, id task.ID) (*deadletter.Letter, error) {
	l, err := in.store.FindLetter(ctx, id)
	if err == nil && (l == nil || l.Namespace != q.Source.Namespace || l.Source != q.Source.Name) {
		err = task.Errorf(task.NotFound, "the queue %s has no letter %s", q.Name, id)
	}
	return l, err
}

// requeueTarget returns where letters are sent: to the named queue; to the one that the name of the dead letter queue
// tells, if the source lists it; else to the origin of each letter ("").
func (in *Inbox) requeueTarget(q *Queue, named string) string {
	if origin := q.Origin(); named == "" && origin != "" && q.Source.Allows(origin, "") {
		return origin
	}
	return named
}

// oldest returns the oldest letters by their states, as many as the request takes.
func (in *Inbox) oldest(ctx context.Context, q *Queue, req *Requeue, out *Requeued) (
	map[model.LetterState][]task.ID, error,
) {
	f := QueueFilter{Namespace: q.Source.Namespace, Source: q.Source.Name, Limit: req.Limit + 1}
	if no := false; !req.IncludeParked {
		f.Parked = &no
	}
	type found struct {
		id    task.ID
		state model.LetterState
	}
	var all []found
	for _, state := range inQueue {
		f.States = []model.LetterState{state}
		ids, err := in.store.OldestLetters(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			all = append(all, found{id, state})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return slices.Compare(a.id[:], b.id[:]) })
	out.More = len(all) > req.Limit
	by := map[model.LetterState][]task.ID{}
	for _, l := range all[:min(len(all), req.Limit)] {
		by[l.state] = append(by[l.state], l.id)
	}
	return by, nil
}

// requeue creates the redrives of letters, waits for them, and adds up what became of them.
func (in *Inbox) requeue(ctx context.Context, q *Queue, req *Requeue, letters map[model.LetterState][]task.ID,
	out *Requeued,
) error {
	var made []task.ID
	for _, state := range inQueue {
		for ids := range slices.Chunk(letters[state], deadletter.MaxSelectionIDs) {
			r, err := in.sendAtOnce(ctx, req.By, RedriveRequest{Destination: out.Destination,
				IncludeParked: req.IncludeParked,
				// A destination that somebody names is checked at once. Else one letter without an origin holds no other up.
				EachItem: req.Destination == "",
				Selection: deadletter.Selection{Namespace: q.Source.Namespace, Source: q.Source.Name, State: state,
					IDs: ids}})
			if task.CodeOf(err) == task.Conflict { // others have taken all of them
				out.Skipped += len(ids)
				continue
			}
			if err != nil {
				return requeueRefused(q, err)
			}
			made = append(made, r.ID)
		}
	}
	out.Redrives = append(out.Redrives, made...)
	ctx, cancel := context.WithTimeout(ctx, requeueTime)
	defer cancel()
	for _, id := range made {
		if err := in.awaitRequeue(ctx, id, req.By, out); err != nil {
			return err
		}
	}
	if out.Sent+out.Pending == 0 && out.Failed > 0 {
		if _, err := in.waiting(ctx, q.Source); err != nil {
			return err
		}
		return &task.Error{Code: task.Conflict, Message: "no job was requeued: " + out.Why,
			Hint: "the jobs are still in " + q.Name}
	}
	return nil
}

// sendAtOnce creates and starts a redrive of letters in one wave, without an observation.
func (in *Inbox) sendAtOnce(ctx context.Context, by By, req RedriveRequest) (*deadletter.Redrive, error) {
	n := len(req.Selection.IDs)
	req.By, req.Operation, req.Start = By{Actor: by.Actor, Reason: by.Reason}, model.OpRedrive, true
	req.Selection.Kind, req.Stop = model.KindLetter, requeueStop
	req.Plan = deadletter.Plan{Canary: n, Largest: n, Observe: deadletter.NoObservation}
	return in.CreateRedrive(ctx, req)
}

// requeueRefused turns the refusal of a redrive into one that names no field of a request: the letters and the source
// are the reason.
func requeueRefused(q *Queue, err error) error {
	var e *task.Error
	if task.CodeOf(err) != task.Invalid || !errors.As(err, &e) || len(e.Problems) == 0 {
		return err
	}
	why := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		why[i] = p.Message
	}
	return &task.Error{Code: task.Conflict, Message: "no job of " + q.Name + " was requeued: " + strings.Join(why, "; "),
		Hint: "see tasker source list"}
}

// awaitRequeue waits for the end of a redrive, or of ctx, and adds its results. One that its stop rule has halted is
// cancelled: nobody would resume it.
func (in *Inbox) awaitRequeue(ctx context.Context, id task.ID, by By, out *Requeued) error {
	for {
		r, err := in.store.FindRedrive(context.WithoutCancel(ctx), id)
		if err != nil {
			return err
		}
		if r == nil {
			return noRedrive(id)
		}
		if r.State == model.RedriveHalted {
			by.Version = 0
			if _, err := in.ActOnRedrive(context.WithoutCancel(ctx), id, model.CancelRedrive, by); err != nil &&
				task.CodeOf(err) != task.WrongState {
				return err
			}
			continue
		}
		ended := r.State == model.RedriveDone || r.State == model.RedriveCancelled
		if ended || ctx.Err() != nil {
			return in.addRequeued(context.WithoutCancel(ctx), r, out)
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
