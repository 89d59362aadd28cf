// Package redrive does one thing with many letters and cases: it sends them back, discards or restores them. A redrive
// begins with a preview and a frozen selection; the runner advances it in waves, and looks at what comes back.
package redrive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Redriver keeps redrives and advances them.
type Redriver struct {
	*desk.Desk
	store    Store
	carriers seam.Carriers
	letters  *letters.Keeper
	groups   *groups.Sorter
	outbox   *outbox.Outbox

	Batch   int             // items that are sent together
	watched deadletter.Item // where watchCases continues; only Advance uses it
}

// New returns a Redriver.
func New(d *desk.Desk, store Store, carriers seam.Carriers, letters *letters.Keeper, groups *groups.Sorter,
	sends *outbox.Outbox,
) *Redriver {
	return &Redriver{Desk: d, store: store, carriers: carriers, letters: letters, groups: groups, outbox: sends,
		Batch: outbox.SendBatch}
}

// CreateRedrive freezes a selection: later arrivals are not added. On request it starts immediately. It refuses an
// empty selection, a destination that does not exist, and one that a source does not allow.
//
// The freeze, the redrive and its act are one transaction. After a lost answer, look at Redrives before a second try.
func (in *Redriver) CreateRedrive(ctx context.Context, req Request) (*deadletter.Redrive, error) {
	by, err := desk.Signed(ctx, req.By)
	if err != nil {
		return nil, err
	}
	if err := in.settle(ctx, &req); err != nil {
		return nil, err
	}
	preview, err := in.preview(ctx, &req) // its problems refuse the redrive
	if err != nil {
		return nil, err
	}
	switch {
	case preview.empty:
		return nil, selectsNothing()
	case len(preview.Problems) > 0:
		return nil, &task.Error{Code: task.Invalid, Message: "the redrive was not created", Problems: preview.Problems}
	}
	return desk.Written(ctx, in.Desk, func(ctx context.Context, tx engine.Tx) (*deadletter.Redrive, error) {
		now := in.Now()
		r := &deadletter.Redrive{ID: in.NewID(), Namespace: req.Selection.Namespace, Operation: req.Operation,
			Selection: req.Selection, Destination: req.Destination, Edit: req.Edit, Plan: preview.Plan, Stop: preview.Stop,
			IncludeParked: req.IncludeParked, State: model.RedriveDraft, StateAt: now, FrozenAt: now, CreatedAt: now,
			Actor: by.Actor, Key: by.Key, Reason: by.Reason, Version: 1}
		n, err := in.store.Freeze(ctx, tx, r, deadletter.MaxItems)
		if err == nil && n == 0 {
			err = selectsNothing()
		}
		if r.Total = n; err == nil && req.Start {
			err = r.Start(now)
		}
		if err != nil {
			return nil, err
		}
		r.Counts = model.ItemCounts{Pending: n}
		return r, errors.Join(in.store.AddRedrive(ctx, tx, r), in.actedOnRedrive(ctx, tx, r, "", &r.Counts,
			desk.Act{Kind: "create_redrive", By: by, Data: recordOfRedrive(r)}))
	})
}

// ActOnRedrive starts, pauses, resumes or cancels a redrive. A batch under way is still sent and recorded; nothing is
// marked afterwards. Resuming after a halt overrides the stop rule for earlier sends. WrongState if the state does not
// allow the action.
func (in *Redriver) ActOnRedrive(ctx context.Context, id task.ID, what model.RedriveAction, by desk.By) (
	*deadletter.Redrive, error,
) {
	counts, err := in.countsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Redrive, error) {
		r, err := in.store.Redrive(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if r == nil || !desk.Reaches(ctx, r.Namespace) {
			return nil, outbox.NoRedrive(id)
		}
		if err := by.Expected("the redrive", r.Version); err != nil {
			return nil, err
		}
		was := r.State
		if err := apply(r, what, in.Now()); err != nil {
			return nil, err
		}
		r.Counts = *counts
		return r, errors.Join(in.store.SaveRedrive(ctx, tx, r),
			in.actedOnRedrive(ctx, tx, r, was, counts, desk.Act{Kind: string(what) + "_redrive", By: by}))
	})
}

func apply(r *deadletter.Redrive, what model.RedriveAction, now task.Instant) error {
	change := map[model.RedriveAction]func(task.Instant) error{model.StartRedrive: r.Start, model.PauseRedrive: r.Pause,
		model.ResumeRedrive: r.Continue, model.CancelRedrive: r.Cancel}[what]
	if change == nil {
		return desk.Invalid("the redrive was not changed", "/action", desk.KnownActions)
	}
	return change(now)
}

func (in *Redriver) redrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error) {
	r, err := in.store.FindRedrive(ctx, id)
	if err == nil && (r == nil || !desk.Reaches(ctx, r.Namespace)) {
		return nil, outbox.NoRedrive(id)
	}
	return r, err
}

// Redrive returns a redrive with its counts, or NotFound.
func (in *Redriver) Redrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error) {
	r, err := in.redrive(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Counts, err = in.store.CountItems(ctx, r); err != nil {
		return nil, err
	}
	if r.Wave > 0 {
		// At most 50 waves are counted, and fewer large ones: counting 100,000 items takes long. No wave is larger than
		// the newest.
		shown := min(max(100_000/max(r.WaveSize, 1), 1), 50, r.Wave)
		r.Waves, err = in.store.CountWaves(ctx, id, r.Wave-shown)
	}
	return r, err
}

// Redrives returns a page, the newest first, without counts, for which up to a million items would be read.
func (in *Redriver) Redrives(ctx context.Context, f Filter) ([]*deadletter.Redrive, error) {
	if err := in.Page(ctx, f.Limit, &f.Namespace); err != nil {
		return nil, err
	}
	return in.store.ListRedrives(ctx, f)
}

// RedriveItems returns items of a redrive above a number with their results, in order; state "" selects all. NotFound:
// the redrive.
func (in *Redriver) RedriveItems(ctx context.Context, id task.ID, state model.ItemState, above, limit int) (
	[]deadletter.Item, error,
) {
	if err := in.Limit(limit); err != nil {
		return nil, err
	}
	if _, err := in.redrive(ctx, id); err != nil {
		return nil, err
	}
	return in.store.ListItems(ctx, id, state, above, limit)
}

// selectsNothing refuses a redrive without items: a conflict, because the same request may succeed later.
func selectsNothing() error {
	return desk.Hinted(task.Conflict, "see tasker inbox", "the selection selects nothing")
}

// Request describes an operation on many. Its selection must name a namespace, unless the key has only one or
// the first named group or letter implies it.
type Request struct {
	desk.By
	Operation   model.Operation
	Selection   deadletter.Selection
	Destination string // "": each letter's origin
	Edit        *deadletter.Edit
	// Zero fields of Plan and Stop take the defaults.
	Plan          deadletter.Plan
	Stop          deadletter.StopRule
	IncludeParked bool
	EachItem      bool // letters that cannot be sent fail one by one; otherwise they refuse the operation
	Start         bool // begin immediately; otherwise it is a draft
}

// tellRedrive reports that a redrive has entered a new state. Counts read every item, so waves, of which there may be
// thousands, go without.
func (in *Redriver) tellRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive,
	was model.RedriveState, counts *model.ItemCounts,
) error {
	if r.State == was {
		return nil
	}
	return in.Tell(ctx, tx, deadletter.RedriveHappened(r, was, counts, in.Now()))
}

func (in *Redriver) actedOnRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, was model.RedriveState,
	counts *model.ItemCounts, a desk.Act,
) error {
	a.Namespace, a.Of, a.From, a.To = r.Namespace, r.ID.String(), string(was), string(r.State)
	return errors.Join(in.Act(ctx, tx, a), in.tellRedrive(ctx, tx, r, was, counts))
}

func (in *Redriver) countsOf(ctx context.Context, id task.ID) (*model.ItemCounts, error) {
	r, err := in.store.FindRedrive(ctx, id)
	if err != nil || r == nil {
		return nil, err
	}
	c, err := in.store.CountItems(ctx, r)
	if err != nil {
		return nil, err
	}
	return &c, nil
}

func recordOfRedrive(r *deadletter.Redrive) desk.Fields {
	p := &r.Plan
	return desk.Fields{"operation": r.Operation, "items": r.Total, "selection": recordOfSelection(&r.Selection),
		"destination": posturl.Redact(r.Destination), "edit": recordOfEdit(r.Edit), "include_parked": r.IncludeParked,
		"plan": desk.Fields{"canary": p.Canary, "factor": p.Factor, "largest": p.Largest,
			"observe_seconds": new(max(p.Observe, 0).Seconds()), "rate": p.Rate, "limit": p.Limit,
			"keep_attempts": p.KeepAttempts, "at_most_once": p.AtMostOnce, "priority": p.Priority},
		"stop": desk.Fields{"returned_share": r.Stop.ReturnedShare, "same_fingerprint": r.Stop.SamePrint,
			"failed": r.Stop.Failed}}
}

func recordOfSelection(s *deadletter.Selection) desk.Fields {
	return desk.Fields{"kind": s.Kind, "ids": texts(s.IDs), "groups": texts(s.Groups), "source": s.Source,
		"origin": posturl.Redact(s.Origin), "template": s.Template, "state": s.State, "error_type": s.Type, "text": s.Text,
		"header_name": s.HeaderName, "header_value": s.HeaderValue, "after": s.After.Ptr(), "before": s.Before.Ptr(),
		"first_after": s.FirstAfter.Ptr(), "first_before": s.FirstBefore.Ptr(), "min_replays": s.MinReplays,
		"replayed": s.Replayed, "retryable": s.Retryable, "parked": s.Parked, "reason": s.Reason,
		"task_state": s.TaskState}
}

func texts[T fmt.Stringer](list []T) (out []string) {
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

// recordOfEdit identifies the patch of an edit without showing it.
func recordOfEdit(e *deadletter.Edit) desk.Fields {
	if e == nil {
		return nil
	}
	out := desk.Fields{"drop_headers": e.DropHeaders, "key": e.Key != nil}
	if e.Patch != nil {
		sum := sha256.Sum256(e.Patch)
		out["patch_sha256"] = hex.EncodeToString(sum[:])
	}
	var set []string
	for _, h := range e.SetHeaders {
		set = append(set, h.Name)
	}
	out["set_headers"] = set
	return out
}

// Filter selects a page of redrives. Zero fields do not restrict.
type Filter struct {
	Namespace string
	States    []model.RedriveState
	Below     task.ID // exclusive; zero starts at the newest
	Limit     int
}

// ExplainRedrive is ExplainLetter for a redrive.
func (in *Redriver) ExplainRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, deadletter.Explanation,
	error,
) {
	r, err := in.Redrive(ctx, id)
	if err != nil {
		return nil, deadletter.Explanation{}, err
	}
	return r, deadletter.ExplainRedrive(r), nil
}
