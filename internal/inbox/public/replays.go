package public

import (
	"cmp"
	"context"
	"strconv"

	"github.com/taskerhq/tasker/deadletters/model"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

func (r *reader) replay(req *deadletters.TopicReplayRequest) inbox.ReplayRequest {
	s := &req.ReplaySpec
	out := inbox.ReplayRequest{By: r.by(req.Act), Namespace: cmp.Or(req.Namespace, "default"), Source: req.Source,
		Start: req.Start, Spec: deadletter.ReplaySpec{Topic: r.text("/topic", s.Topic, false),
			Into: deadletter.ReplayInto(s.Into), Intake: readIntake(s.Intake), Repeat: r.text("/repeat", s.Repeat, false),
			Since: r.filterTime("/since", s.Since), Before: r.filterTime("/before", s.Before), FromOffset: s.FromOffset,
			ToOffset: s.ToOffset, Partitions: s.Partitions, Key: s.Key, Rate: s.Rate}}
	if len(s.Headers) > 0 {
		out.Spec.Headers = r.headers("/headers", s.Headers)
	}
	return out
}

func (b *backend) PreviewReplay(ctx context.Context, req deadletters.TopicReplayRequest) (*deadletters.ReplayPreview,
	error,
) {
	var r reader
	request := r.replay(&req)
	if err := r.err(); err != nil {
		return nil, err
	}
	p, err := b.inbox.PreviewReplay(ctx, request)
	if err != nil {
		return nil, shownError(err)
	}
	out := &deadletters.ReplayPreview{Topic: p.Replay.Spec.Topic, Into: string(p.Replay.Spec.Into),
		Messages: p.Replay.Left(), Parts: append([]model.ReplayPart{}, p.Replay.Progress.Parts...), Scanned: p.Scanned,
		Selected: p.Selected,
		Whole:    p.Whole, FirstAt: p.FirstAt.Ptr(), LastAt: p.LastAt.Ptr(), Samples: []deadletters.ReplaySample{}}
	for _, s := range p.Samples {
		shown := deadletters.ReplaySample{Partition: s.Partition, Offset: s.Offset, At: s.At.Ptr(),
			Key: shownKey(s.Key), Known: s.Known}
		if s.Task == nil && s.Refusal == nil {
			shown.ErrorType = s.Failure
		} else {
			of := shownPreviews([]inbox.IntakePreview{s.IntakePreview})[0]
			shown.Task, shown.Refusal = of.Task, of.Refusal
		}
		out.Samples = append(out.Samples, shown)
	}
	return out, nil
}

func (b *backend) CreateReplay(ctx context.Context, req deadletters.TopicReplayRequest) (*deadletters.TopicReplay,
	error,
) {
	var r reader
	return asked(ctx, &r, b.inbox.CreateReplay, r.replay(&req), shownReplay)
}

// An unknown action is refused by the inbox.
func (b *backend) ActOnReplay(ctx context.Context, id uuid.UUID, act deadletters.RedriveAct) (*deadletters.TopicReplay,
	error,
) {
	by, err := actor(act.Act)
	if err != nil {
		return nil, err
	}
	return shown(shownReplay)(b.inbox.ActOnReplay(ctx, task.ID(id), act.Action, by))
}

func (b *backend) Replay(ctx context.Context, id uuid.UUID) (*deadletters.TopicReplay, error) {
	return shown(shownReplay)(b.inbox.Replay(ctx, task.ID(id)))
}

// A full page has a cursor, so the last page may turn out to be empty.
func (b *backend) Replays(ctx context.Context, f deadletters.ReplayFilter) (*deadletters.ReplayPage, error) {
	var r reader
	filter := inbox.ReplayFilter{Namespace: f.Namespace, Below: r.cursor(f.Cursor), Limit: cmp.Or(f.Limit, defaultPage)}
	if err := r.err(); err != nil {
		return nil, err
	}
	replays, err := b.inbox.Replays(ctx, filter)
	if err != nil {
		return nil, shownError(err)
	}
	return &deadletters.ReplayPage{Replays: each(replays, shownReplay),
		NextCursor: next(replays, filter.Limit, func(r *deadletter.Replay) string { return r.ID.String() })}, nil
}

func shownReplay(r *deadletter.Replay) deadletters.TopicReplay {
	s, p := &r.Spec, &r.Progress
	out := deadletters.TopicReplay{ReplayUUID: uuid.UUID(r.ID), Namespace: r.Namespace, Source: r.Source,
		ReplaySpec: deadletters.ReplaySpec{Topic: s.Topic, Into: string(s.Into), Intake: shownIntake(s.Intake),
			Repeat: s.Repeat, Since: optionalTime(s.Since), Before: optionalTime(s.Before), FromOffset: s.FromOffset,
			ToOffset: s.ToOffset, Partitions: s.Partitions, Key: s.Key, Rate: s.Rate},
		State: r.State, StateAt: p.StateAt.Time(), Why: p.Why,
		Counts: p.Counts, Parts: append([]model.ReplayPart{}, p.Parts...), StartedAt: p.StartedAt.Ptr(),
		EndedAt: p.EndedAt.Ptr(), PurgeAt: r.PurgeAt.Ptr(), Actor: r.Actor, KeyName: r.Key, Reason: r.Reason,
		CreatedAt: r.CreatedAt.Time(), ETag: etag(r.Version)}
	for _, h := range s.Headers {
		out.Headers = append(out.Headers, deadletters.NewHeader(h.Name, h.Value))
	}
	return out
}

// shownKey returns a key as a text that can be shown.
func shownKey(key []byte) string {
	if s := string(key); task.TextFault(s, 1024) == "" {
		return s
	}
	return strconv.QuoteToASCII(string(key[:min(len(key), 256)]))
}
