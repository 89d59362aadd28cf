package public

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

func (r *reader) replay(req *deadletters.TopicReplayRequest) inbox.ReplayRequest {
	s := &req.ReplaySpec
	out := inbox.ReplayRequest{By: r.by(req.Act), Namespace: within(req.Namespace), Source: req.Source,
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
	return asked(ctx, &r, b.inbox.PreviewReplay, r.replay(&req), shownReplayPreview)
}

func shownReplayPreview(p *inbox.ReplayPreview) deadletters.ReplayPreview {
	out := deadletters.ReplayPreview{Topic: p.Replay.Spec.Topic, Into: string(p.Replay.Spec.Into),
		Messages: p.Replay.Left(), Parts: append([]model.ReplayPart{}, p.Replay.Progress.Parts...), Scanned: p.Scanned,
		Selected: p.Selected,
		Whole:    p.Whole, FirstAt: p.FirstAt.Ptr(), LastAt: p.LastAt.Ptr(), Samples: []deadletters.ReplaySample{}}
	for _, s := range p.Samples {
		shown := deadletters.ReplaySample{Partition: s.Partition, Offset: s.Offset, At: s.At.Ptr(),
			Key: shownKey(s.Key), Known: s.Known}
		if s.Task == nil && s.Refusal == nil {
			shown.ErrorType = s.Failure
		} else {
			of := shownIntakePreview(s.IntakePreview)
			shown.Task, shown.Refusal = of.Task, of.Refusal
		}
		out.Samples = append(out.Samples, shown)
	}
	return out
}

func (b *backend) CreateReplay(ctx context.Context, req deadletters.TopicReplayRequest) (*deadletters.TopicReplay,
	error,
) {
	var r reader
	return asked(ctx, &r, b.inbox.CreateReplay, r.replay(&req), shownReplay)
}

// The inbox refuses an unknown action.
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
	return asked(ctx, &r, b.inbox.Replays, filter, func(page []*deadletter.Replay) deadletters.ReplayPage {
		return deadletters.ReplayPage{Replays: each(page, shownReplay),
			NextCursor: next(page, filter.Limit, func(last *deadletter.Replay) string { return last.ID.String() })}
	})
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

func readIntake(in *deadletters.Intake) *deadletter.Intake {
	if in == nil {
		return nil
	}
	out := &deadletter.Intake{TaskType: in.TaskType, Template: in.Template, TemplateVersion: in.TemplateVersion,
		Priority: in.Priority, MinPriority: in.MinPriority, MaxPriority: in.MaxPriority,
		IdempotencyKey: in.IdempotencyKey, OrderingKey: in.OrderingKey, CorrelationID: in.CorrelationID, Delay: in.Delay,
		Input: deadletter.IntakeInput(in.Input), MaxRetries: in.MaxRetries, Timeout: secondsOf(in.TimeoutSeconds),
		Tags: in.Tags}
	if in.OnFailure != nil {
		out.WriteFailures = in.OnFailure.Write
	}
	return out
}

// secondsOf converts seconds; what no duration can be is out of any bounds.
func secondsOf(seconds float64) time.Duration {
	if d := seconds * float64(time.Second); d < float64(1<<62) && d > -float64(1<<62) {
		return time.Duration(d)
	}
	return -1
}

// shownIntake is the reverse.
func shownIntake(in *deadletter.Intake) *deadletters.Intake {
	if in == nil {
		return nil
	}
	out := &deadletters.Intake{TaskType: in.TaskType, Template: in.Template, TemplateVersion: in.TemplateVersion,
		Priority: in.Priority, MinPriority: in.MinPriority, MaxPriority: in.MaxPriority,
		IdempotencyKey: in.IdempotencyKey, OrderingKey: in.OrderingKey, CorrelationID: in.CorrelationID, Delay: in.Delay,
		Input:      string(in.Input),
		MaxRetries: in.MaxRetries, TimeoutSeconds: in.Timeout.Seconds(), Tags: in.Tags}
	if in.WriteFailures != "" {
		out.OnFailure = &deadletters.IntakeFailure{Write: in.WriteFailures}
	}
	return out
}

func shownIntakePreview(p inbox.IntakePreview) deadletters.IntakePreview {
	t := p.Task
	if t == nil {
		return deadletters.IntakePreview{Refusal: (*deadletters.IntakeRefusal)(p.Refusal)}
	}
	return deadletters.IntakePreview{Task: &deadletters.IntakeTask{TaskType: t.TaskType, Template: t.Template,
		Priority: t.Priority, IdempotencyKey: t.Key, OrderingKey: t.OrderingKey, CorrelationID: t.CorrelationID,
		DelaySeconds: t.Delay.Seconds(), ContextBytes: len(t.Context)}}
}
