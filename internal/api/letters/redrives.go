package letters

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/replay"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Problems of the operation are part of the answer; err is for an unreadable request.
func (b *backend) PreviewRedrive(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Preview, error) {
	var r reader
	return asked(ctx, &r, b.inbox.PreviewRedrive, r.redrive(&req), shownPreview)
}

func (b *backend) CreateRedrive(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Redrive, error) {
	var r reader
	return asked(ctx, &r, b.inbox.CreateRedrive, r.redrive(&req), shownRedrive)
}

func (b *backend) ActOnRedrive(ctx context.Context, id uuid.UUID, act deadletters.RedriveAct,
) (*deadletters.Redrive, error) {
	by, err := actor(act.Act)
	if err != nil {
		return nil, err
	}
	return shown(shownRedrive)(b.inbox.ActOnRedrive(ctx, task.ID(id), act.Action, by))
}

func (b *backend) Redrive(ctx context.Context, id uuid.UUID) (*deadletters.Redrive, error) {
	return shown(shownRedrive)(b.inbox.Redrive(ctx, task.ID(id)))
}

// A full page has a cursor, so the last page may be empty.
func (b *backend) Redrives(ctx context.Context, f deadletters.RedriveFilter) (*deadletters.RedrivePage, error) {
	var r reader
	filter := redrive.Filter{Namespace: f.Namespace, States: f.States, Below: r.cursor(f.Cursor),
		Limit: cmp.Or(f.Limit, defaultPage)}
	return asked(ctx, &r, b.inbox.Redrives, filter, func(page []*deadletter.Redrive) deadletters.RedrivePage {
		return deadletters.RedrivePage{Redrives: each(page, shownRedrive),
			NextCursor: next(page, filter.Limit, func(last *deadletter.Redrive) string { return last.ID.String() })}
	})
}

// The default limit is 100; the cursor is the number of the last item.
func (b *backend) RedriveItems(ctx context.Context, id uuid.UUID, f deadletters.ItemFilter,
) (*deadletters.ItemPage, error) {
	var r reader
	above, limit := r.number(f.Cursor), cmp.Or(f.Limit, defaultItemsPage)
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(func(items []deadletter.Item) deadletters.ItemPage {
		return itemPage(items, limit)
	})(b.inbox.RedriveItems(ctx, task.ID(id), f.State, above, limit))
}

func itemPage(items []deadletter.Item, limit int) deadletters.ItemPage {
	return deadletters.ItemPage{Items: each(items, shownItem),
		NextCursor: next(items, limit, func(i deadletter.Item) string { return strconv.Itoa(i.No) })}
}

func (r *reader) selection(at string, s *deadletters.Selection) deadletter.Selection {
	return deadletter.Selection{
		Namespace: s.Namespace, Kind: s.Kind, IDs: some(s.IDs, readID), Groups: r.groups(at+"/groups", s.Groups),
		Source: s.Source, Origin: s.Origin, Template: s.Template, State: s.State, Type: s.ErrorType, Text: s.Text,
		HeaderName: s.HeaderName, HeaderValue: s.HeaderValue, After: r.filterTime(at+"/after", s.After),
		Before: r.filterTime(at+"/before", s.Before), FirstAfter: r.filterTime(at+"/first_after", s.FirstAfter),
		FirstBefore: r.filterTime(at+"/first_before", s.FirstBefore), MinReplays: s.MinReplays, Replayed: s.Replayed,
		Retryable: s.Retryable, Parked: s.Parked, Reason: task.CaseReason(s.CaseReason), TaskState: task.State(s.TaskState),
	}
}

func (r *reader) redrive(req *deadletters.RedriveRequest) redrive.Request {
	out := redrive.Request{
		By: r.by(req.Act), Operation: req.Operation,
		Selection: r.selection("/selection", &req.Selection), Destination: r.text("/destination", req.Destination),
		Plan: deadletter.Plan{Canary: req.Plan.Canary, Factor: req.Plan.Factor, Largest: req.Plan.Largest,
			Observe: r.seconds("/plan/observe_seconds", req.Plan.ObserveSeconds), Rate: req.Plan.Rate, Limit: req.Plan.Limit,
			KeepAttempts: req.Plan.KeepAttempts, Priority: string(req.Plan.Priority), AtMostOnce: req.Plan.AtMostOnce},
		Stop: deadletter.StopRule(req.Stop), IncludeParked: req.IncludeParked, Start: req.Start,
	}
	if req.Edit != nil {
		edit := r.edit("/edit", req.Edit)
		out.Edit = &edit
	}
	return out
}

func shownRedrive(r *deadletter.Redrive) deadletters.Redrive {
	return deadletters.Redrive{
		RedriveUUID: uuid.UUID(r.ID), Namespace: r.Namespace, Operation: r.Operation,
		Selection: shownSelection(&r.Selection), Destination: posturl.Redact(r.Destination),
		Edit: shownEdit(r.Edit), Plan: shownPlan(r.Plan), Stop: deadletters.StopRule(r.Stop), IncludeParked: r.IncludeParked,
		State: r.State, StateAt: r.StateAt.Time(), HaltReason: r.Halt,
		FrozenAt: r.FrozenAt.Ptr(), StartedAt: r.StartedAt.Ptr(), EndedAt: r.EndedAt.Ptr(),
		Total: r.Total, Counts: r.Counts, Wave: r.Wave, WaveSize: r.WaveSize, WaveSent: r.WaveSent, Waves: r.Waves,
		Actor: r.Actor, KeyName: r.Key, Reason: r.Reason, CreatedAt: r.CreatedAt.Time(), ETag: etag(r.Version),
	}
}

func shownSelection(s *deadletter.Selection) deadletters.Selection {
	return deadletters.Selection{
		Namespace: s.Namespace, Kind: s.Kind, IDs: some(s.IDs, shownID), Groups: some(s.Groups, deadletter.GroupID.String),
		Source: s.Source, Origin: posturl.Redact(s.Origin), Template: s.Template, State: s.State, ErrorType: s.Type,
		Text: s.Text, HeaderName: s.HeaderName, HeaderValue: s.HeaderValue, After: s.After.Time(), Before: s.Before.Time(),
		FirstAfter: s.FirstAfter.Time(), FirstBefore: s.FirstBefore.Time(), MinReplays: s.MinReplays, Replayed: s.Replayed,
		Retryable: s.Retryable, Parked: s.Parked, CaseReason: tasker.CaseReason(s.Reason),
		TaskState: tasker.TaskState(s.TaskState),
	}
}

func shownPlan(p deadletter.Plan) deadletters.Plan {
	return deadletters.Plan{Canary: p.Canary, Factor: p.Factor, Largest: p.Largest,
		ObserveSeconds: max(p.Observe, 0).Seconds(), // deadletter.NoObservation is negative
		Rate:           p.Rate, Limit: p.Limit, KeepAttempts: p.KeepAttempts, Priority: tasker.Priority(p.Priority),
		AtMostOnce: p.AtMostOnce}
}

func shownItem(i deadletter.Item) deadletters.Item {
	return deadletters.Item{No: i.No, Kind: i.Kind, ID: uuid.UUID(i.ID), State: i.State, Wave: i.Wave, At: i.At.Time(),
		Message: i.Message, GroupID: shownGroupID(i.Group), Uncertain: i.Uncertain}
}

func shownPreview(p *redrive.Preview) deadletters.Preview {
	out := deadletters.Preview{Total: p.Total, Capped: p.Capped, Samples: []deadletters.PreviewItem{},
		Destinations: []deadletters.DestinationCheck{}, Problems: refusal.Details(p.Problems), Plan: shownPlan(p.Plan),
		Stop: deadletters.StopRule(p.Stop)}
	for _, s := range p.Samples {
		out.Samples = append(out.Samples, deadletters.PreviewItem{Kind: s.Kind, ID: uuid.UUID(s.ID),
			Destination: posturl.Redact(s.Destination), Changes: s.Changes, Problem: s.Problem})
	}
	for _, d := range p.Destinations {
		d.Destination = posturl.Redact(d.Destination)
		out.Destinations = append(out.Destinations, d)
	}
	return out
}

func (r *reader) replay(req *deadletters.TopicReplayRequest) replay.Request {
	s := &req.ReplaySpec
	out := replay.Request{By: r.by(req.Act), Namespace: within(req.Namespace), Source: req.Source,
		Start: req.Start, Spec: deadletter.ReplaySpec{Topic: r.text("/topic", s.Topic),
			Into: deadletter.ReplayInto(s.Into), Intake: readIntake(s.Intake), Repeat: r.text("/repeat", s.Repeat),
			Since: r.filterTime("/since", s.Since), Before: r.filterTime("/before", s.Before), FromOffset: s.FromOffset,
			ToOffset: s.ToOffset, Partitions: s.Partitions, Key: s.Key, Rate: s.Rate}}
	if len(s.Headers) > 0 {
		out.Spec.Headers = r.headers("/headers", s.Headers)
	}
	return out
}

func (b *backend) PreviewReplay(ctx context.Context, req deadletters.TopicReplayRequest,
) (*deadletters.ReplayPreview, error) {
	var r reader
	return asked(ctx, &r, b.inbox.PreviewReplay, r.replay(&req), shownReplayPreview)
}

func shownReplayPreview(p *replay.Preview) deadletters.ReplayPreview {
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

func (b *backend) CreateReplay(ctx context.Context, req deadletters.TopicReplayRequest,
) (*deadletters.TopicReplay, error) {
	var r reader
	return asked(ctx, &r, b.inbox.CreateReplay, r.replay(&req), shownReplay)
}

func (b *backend) ActOnReplay(ctx context.Context, id uuid.UUID, act deadletters.RedriveAct,
) (*deadletters.TopicReplay, error) {
	by, err := actor(act.Act)
	if err != nil {
		return nil, err
	}
	return shown(shownReplay)(b.inbox.ActOnReplay(ctx, task.ID(id), act.Action, by))
}

func (b *backend) Replay(ctx context.Context, id uuid.UUID) (*deadletters.TopicReplay, error) {
	return shown(shownReplay)(b.inbox.Replay(ctx, task.ID(id)))
}

// A full page has a cursor, so the last page may be empty.
func (b *backend) Replays(ctx context.Context, f deadletters.ReplayFilter) (*deadletters.ReplayPage, error) {
	var r reader
	filter := replay.Filter{Namespace: f.Namespace, Below: r.cursor(f.Cursor), Limit: cmp.Or(f.Limit, defaultPage)}
	return asked(ctx, &r, b.inbox.Replays, filter, func(page []*deadletter.Replay) deadletters.ReplayPage {
		return deadletters.ReplayPage{Replays: each(page, shownReplay),
			NextCursor: next(page, filter.Limit, func(last *deadletter.Replay) string { return last.ID.String() })}
	})
}

func shownReplay(r *deadletter.Replay) deadletters.TopicReplay {
	s, p := &r.Spec, &r.Progress
	return deadletters.TopicReplay{ReplayUUID: uuid.UUID(r.ID), Namespace: r.Namespace, Source: r.Source,
		ReplaySpec: deadletters.ReplaySpec{Topic: s.Topic, Into: string(s.Into), Intake: shownIntake(s.Intake),
			Repeat: s.Repeat, Since: s.Since.Time(), Before: s.Before.Time(), FromOffset: s.FromOffset,
			ToOffset: s.ToOffset, Partitions: s.Partitions, Key: s.Key, Headers: some(s.Headers, shownHeader), Rate: s.Rate},
		State: r.State, StateAt: p.StateAt.Time(), Why: p.Why,
		Counts: p.Counts, Parts: append([]model.ReplayPart{}, p.Parts...), StartedAt: p.StartedAt.Ptr(),
		EndedAt: p.EndedAt.Ptr(), PurgeAt: r.PurgeAt.Ptr(), Actor: r.Actor, KeyName: r.Key, Reason: r.Reason,
		CreatedAt: r.CreatedAt.Time(), ETag: etag(r.Version)}
}

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

// secondsOf converts seconds beyond a duration to one out of bounds.
func secondsOf(seconds float64) time.Duration {
	if d := seconds * float64(time.Second); d < float64(1<<62) && d > -float64(1<<62) {
		return time.Duration(d)
	}
	return -1
}

func shownIntake(in *deadletter.Intake) *deadletters.Intake {
	if in == nil {
		return nil
	}
	out := &deadletters.Intake{TaskType: in.TaskType, Template: in.Template, TemplateVersion: in.TemplateVersion,
		Priority: in.Priority, MinPriority: in.MinPriority, MaxPriority: in.MaxPriority, IdempotencyKey: in.IdempotencyKey,
		OrderingKey: in.OrderingKey, CorrelationID: in.CorrelationID, Delay: in.Delay, Input: string(in.Input),
		MaxRetries: in.MaxRetries, TimeoutSeconds: in.Timeout.Seconds(), Tags: in.Tags}
	if in.WriteFailures != "" {
		out.OnFailure = &deadletters.IntakeFailure{Write: in.WriteFailures}
	}
	return out
}

func shownIntakePreview(p sources.IntakePreview) deadletters.IntakePreview {
	t := p.Task
	if t == nil {
		return deadletters.IntakePreview{Refusal: (*deadletters.IntakeRefusal)(p.Refusal)}
	}
	return deadletters.IntakePreview{Task: &deadletters.IntakeTask{TaskType: t.TaskType, Template: t.Template,
		Priority: t.Priority, IdempotencyKey: t.Key, OrderingKey: t.OrderingKey, CorrelationID: t.CorrelationID,
		DelaySeconds: t.Delay.Seconds(), ContextBytes: len(t.Context)}}
}
