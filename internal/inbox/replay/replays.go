// Package replay reads a range of a broker's log again, and makes letters or tasks of its messages.
package replay

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Replayed is the failure type of replayed letters whose messages describe no failure.
const Replayed = "Replayed"

const (
	maxReplays = 50
	replayTime = 10 * time.Second
)

// Options of a Replayer.
type Options struct {
	Carriers    seam.Carriers
	IntakeBatch int // bounds the messages that become tasks in one transaction
	Gone        func(namespace, source string, messages int64)
}

// Replayer keeps replays and advances them.
type Replayer struct {
	*desk.Desk
	store   Store
	opts    Options
	sources *sources.Registry
	capture *capture.Capturer
}

// New returns a Replayer.
func New(d *desk.Desk, store Store, opts Options, sources *sources.Registry, capture *capture.Capturer) *Replayer {
	return &Replayer{d, store, opts, sources, capture}
}

// Request describes a replay. In Spec, the topic defaults to the queue of the source; Into to tasks with an
// intake, else to the inbox.
type Request struct {
	desk.By
	Namespace, Source string
	Spec              deadletter.ReplaySpec
	Start             bool // begin immediately; otherwise it is a draft
}

func noReplay(id task.ID) error { return task.Errorf(task.NotFound, "there is no replay %s", id) }

// CreateReplay freezes the range of a topic: later messages are not included. Invalid: the topic is not of the source,
// does not exist, or its broker keeps nothing. Conflict: the range is empty. Forbidden: it reads sensitive values that
// the key may not see. Exhausted: the namespace has too many replays.
func (in *Replayer) CreateReplay(ctx context.Context, req Request) (*deadletter.Replay, error) {
	by, err := desk.Signed(ctx, req.By)
	if err != nil {
		return nil, err
	}
	r, _, err := in.frozenReplay(ctx, &req)
	if err != nil {
		return nil, err
	}
	r.Actor, r.Key, r.Reason = by.Actor, by.Key, by.Reason
	return r, in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		open, err := in.store.OpenReplays(ctx, tx, r.Namespace)
		if err != nil {
			return err
		}
		if open >= maxReplays {
			return desk.Hinted(task.Exhausted, "cancel one: see tasker replay list",
				"the namespace has as many open replays as it may have")
		}
		// The transaction may run again.
		r.ID, r.CreatedAt, r.State, r.Version = in.NewID(), in.Now(), model.ReplayDraft, 1
		r.Progress.StateAt = r.CreatedAt
		if req.Start {
			if err := r.Move(model.ReplayRunning, r.CreatedAt, "started"); err != nil {
				return err
			}
		}
		return errors.Join(in.store.AddReplay(ctx, tx, r),
			in.actedOnReplay(ctx, tx, r, "", desk.Act{Kind: "create_replay", By: by, Data: recordOfReplay(r)}))
	})
}

func (in *Replayer) frozenReplay(ctx context.Context, req *Request) (*deadletter.Replay, *deadletter.Source,
	error,
) {
	source, err := in.sources.SourceOf(ctx, req.Namespace, req.Source)
	if err != nil {
		return nil, nil, err
	}
	s := req.Spec
	s.Topic = cmp.Or(s.Topic, source.Queue)
	if s.Into == "" && cmp.Or(s.Intake, source.Intake) != nil {
		s.Into = deadletter.ReplayIntoTasks
	}
	s.Into = cmp.Or(s.Into, deadletter.ReplayIntoInbox)
	if err := sources.RefuseReading(ctx, source, s.Intake, s.Headers); err != nil {
		return nil, nil, err
	}
	problems, carrier := s.Validate(source), in.opts.Carriers.Of(source)
	if carrier == nil {
		problems = []task.Problem{{Location: "/source", Message: "has no broker that keeps messages"}}
	} else if s.Intake != nil {
		of := *source
		of.Intake = s.Intake
		problems = append(problems, in.sources.IntakeFaults(&of)...)
	}
	if len(problems) > 0 {
		return nil, nil, &task.Error{Code: task.Invalid, Message: notReplayed, Problems: problems}
	}
	parts, err := logRange(ctx, carrier, source, &s)
	if err != nil {
		return nil, nil, err
	}
	if len(parts) == 0 {
		return nil, nil, task.Errorf(task.Conflict, "the topic %q holds nothing in that range", s.Topic)
	}
	return &deadletter.Replay{Namespace: req.Namespace, Source: req.Source, Spec: s,
		Progress: deadletter.ReplayProgress{Parts: parts}}, source, nil
}

const notReplayed = "the replay was not created"

func logRange(ctx context.Context, c seam.Carrier, source *deadletter.Source, s *deadletter.ReplaySpec) (
	[]model.ReplayPart, error,
) {
	bounded, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	parts, err := c.LogParts(bounded, source, s.Topic, s.Since.Time(), s.Before.Time())
	switch {
	case errors.Is(err, seam.ErrNoLog):
		return nil, desk.Invalid(notReplayed, "/source", "has a broker that keeps no messages once they are received")
	case errors.Is(err, seam.ErrForGood):
		return nil, desk.Invalid(notReplayed, "/topic", desk.ItemMessage(err))
	case err != nil && ctx.Err() == nil:
		return nil, brokerSilent(err)
	case err != nil:
		return nil, err
	case len(parts) > deadletter.MaxReplayParts:
		return nil, desk.Invalid(notReplayed, "/topic", "has too many partitions")
	}
	return s.Freeze(parts), nil
}

func brokerSilent(err error) error {
	return &task.Error{Code: task.Unavailable, Message: "the broker of the source does not answer", Err: err}
}

// ActOnReplay starts, pauses, resumes or cancels a replay. A batch under way is still stored. WrongState if the state
// does not allow the action.
func (in *Replayer) ActOnReplay(ctx context.Context, id task.ID, what model.RedriveAction, by desk.By) (
	*deadletter.Replay, error,
) {
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Replay, error) {
		r, err := in.store.Replay(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if r == nil || !desk.Reaches(ctx, r.Namespace) {
			return nil, noReplay(id)
		}
		if err := by.Expected("the replay", r.Version); err != nil {
			return nil, err
		}
		was := r.State
		if err := applyToReplay(r, what, in.Now()); err != nil {
			return nil, err
		}
		return r, errors.Join(in.store.SaveReplay(ctx, tx, r),
			in.actedOnReplay(ctx, tx, r, was, desk.Act{Kind: string(what) + "_replay", By: by}))
	})
}

func applyToReplay(r *deadletter.Replay, what model.RedriveAction, now task.Instant) error {
	drafted := r.State == model.ReplayDraft
	switch {
	case what == model.StartRedrive && drafted:
		return r.Move(model.ReplayRunning, now, "started")
	case what == model.ResumeRedrive && !drafted:
		return r.Move(model.ReplayRunning, now, "resumed")
	case what == model.PauseRedrive:
		return r.Move(model.ReplayPaused, now, "paused")
	case what == model.CancelRedrive:
		return r.Move(model.ReplayCancelled, now, "cancelled")
	case what == model.StartRedrive, what == model.ResumeRedrive:
		return task.Errorf(task.WrongState, "the replay %s is %s: %s is for another state", r.ID, r.State, what)
	}
	return desk.Invalid("the replay was not changed", "/action", desk.KnownActions)
}

// Replay returns a replay, or NotFound.
func (in *Replayer) Replay(ctx context.Context, id task.ID) (*deadletter.Replay, error) {
	r, err := in.store.FindReplay(ctx, id)
	if err == nil && (r == nil || !desk.Reaches(ctx, r.Namespace)) {
		return nil, noReplay(id)
	}
	return r, err
}

// Replays returns a page, the newest first.
func (in *Replayer) Replays(ctx context.Context, f Filter) ([]*deadletter.Replay, error) {
	if err := in.Page(ctx, f.Limit, &f.Namespace); err != nil {
		return nil, err
	}
	return in.store.ListReplays(ctx, f)
}

func (in *Replayer) actedOnReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay, was model.ReplayState,
	a desk.Act,
) error {
	a.Namespace, a.Of, a.From, a.To = r.Namespace, r.ID.String(), string(was), string(r.State)
	namespace, source := r.Namespace, r.Source
	tx.Handle().AfterCommit(func() { in.Observer.ReplayEntered(namespace, source, a.To) })
	return errors.Join(in.Act(ctx, tx, a), in.Tell(ctx, tx, deadletter.ReplayHappened(r, was, in.Now())))
}

func recordOfReplay(r *deadletter.Replay) desk.Fields {
	s := &r.Spec
	return desk.Fields{"source": r.Source, "topic": s.Topic, "into": s.Into, "offsets": r.Left(), "since": s.Since.Ptr(),
		"before": s.Before.Ptr(), "filtered": s.Key != nil || len(s.Headers) > 0, "rate": s.Rate, "repeat": s.Repeat,
		"intake": s.Intake}
}

// Filter selects a page of replays. Zero fields do not restrict.
type Filter struct {
	Namespace string
	Below     task.ID
	Limit     int
}

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	AddReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	SaveReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay) error
	// Replay returns a replay, locked: unlike a redrive, after letters and groups.
	Replay(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Replay, error)
	FindReplay(ctx context.Context, id task.ID) (*deadletter.Replay, error)
	// the newest first, and the oldest first
	ListReplays(ctx context.Context, f Filter) ([]*deadletter.Replay, error)
	RunningReplays(ctx context.Context, limit int) ([]*deadletter.Replay, error)
	OpenReplays(ctx context.Context, tx engine.Tx, namespace string) (int, error)

	// Of other rooms.

	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	Identified(ctx context.Context, tx engine.Tx, namespace, source string, identities []string) (
		map[string]*deadletter.Letter, error)
}
