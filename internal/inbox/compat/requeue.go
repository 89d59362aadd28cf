package compat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
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
func (in *Views) Requeue(ctx context.Context, q *Queue, req Requeue) (Requeued, error) {
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
func (in *Views) QueueLetter(ctx context.Context, q *Queue, id task.ID) (*deadletter.Letter, error) {
	l, err := in.store.FindLetter(ctx, id)
	if err == nil && (l == nil || l.Namespace != q.Source.Namespace || l.Source != q.Source.Name) {
		err = task.Errorf(task.NotFound, "the queue %s has no letter %s", q.Name, id)
	}
	return l, err
}

func (in *Views) oldest(ctx context.Context, q *Queue, req *Requeue, out *Requeued) (lettersByState, error) {
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

func (in *Views) requeue(ctx context.Context, q *Queue, req *Requeue, letters lettersByState, out *Requeued) error {
	order := redrive.Request{By: req.By, Destination: out.Destination, IncludeParked: req.IncludeParked,
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
		if _, err := in.carriers.Waiting(ctx, q.Source); err != nil {
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
func (in *Views) sendAtOnce(ctx context.Context, req redrive.Request, letters lettersByState, out *Requeued,
	refused func([]task.ID, error) error,
) (made []task.ID, err error) {
	req.By = desk.By{Actor: req.Actor, Reason: req.Reason}
	req.Operation, req.Stop, req.Start = model.OpRedrive, requeueStop, true
	req.Selection.Kind = model.KindLetter
	for _, state := range inQueue {
		for ids := range slices.Chunk(letters[state], deadletter.MaxSelectionIDs) {
			req.Selection.State, req.Selection.IDs = state, ids
			req.Plan = deadletter.Plan{Canary: len(ids), Largest: len(ids), Observe: deadletter.NoObservation}
			r, err := in.redrive.CreateRedrive(ctx, req)
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
func (in *Views) awaitRequeue(ctx context.Context, id task.ID, by desk.By, out *Requeued) error {
	still := context.WithoutCancel(ctx)
	for {
		r, err := in.store.FindRedrive(still, id)
		switch {
		case err != nil:
			return err
		case r == nil:
			return outbox.NoRedrive(id)
		case r.State == model.RedriveHalted:
			_, err := in.redrive.ActOnRedrive(still, id, model.CancelRedrive, by)
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

func (in *Views) addRequeued(ctx context.Context, r *deadletter.Redrive, out *Requeued) error {
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
