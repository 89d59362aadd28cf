package public

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/posturl"
	"github.com/taskerhq/tasker/internal/task"
)

// Problems of the operation are part of the answer; err is for a request that cannot be read at all.
func (b *backend) PreviewRedrive(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Preview, error) {
	var r reader
	return asked(ctx, &r, b.inbox.PreviewRedrive, r.redrive(&req), shownPreview)
}

func (b *backend) CreateRedrive(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Redrive, error) {
	var r reader
	return asked(ctx, &r, b.inbox.CreateRedrive, r.redrive(&req), shownRedrive)
}

// The inbox refuses an unknown action.
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

// A full page has a cursor, so the last page may turn out to be empty.
func (b *backend) Redrives(ctx context.Context, f deadletters.RedriveFilter) (*deadletters.RedrivePage, error) {
	var r reader
	filter := inbox.RedriveFilter{Namespace: f.Namespace, States: f.States, Below: r.cursor(f.Cursor),
		Limit: cmp.Or(f.Limit, defaultPage)}
	return asked(ctx, &r, b.inbox.Redrives, filter, func(page []*deadletter.Redrive) deadletters.RedrivePage {
		return deadletters.RedrivePage{Redrives: each(page, shownRedrive),
			NextCursor: next(page, filter.Limit, func(last *deadletter.Redrive) string { return last.ID.String() })}
	})
}

// A page has 100 items unless the filter says how many; its cursor is the number of the last one.
func (b *backend) RedriveItems(ctx context.Context, id uuid.UUID, f deadletters.ItemFilter,
) (*deadletters.ItemPage, error) {
	var r reader
	above, limit := r.number(f.Cursor), cmp.Or(f.Limit, defaultItemsPage)
	if err := r.err(); err != nil {
		return nil, err
	}
	items, err := b.inbox.RedriveItems(ctx, task.ID(id), f.State, above, limit)
	if err != nil {
		return nil, shownError(err)
	}
	return itemPage(items, limit), nil
}

func itemPage(items []deadletter.Item, limit int) *deadletters.ItemPage {
	return &deadletters.ItemPage{Items: each(items, shownItem),
		NextCursor: next(items, limit, func(i deadletter.Item) string { return strconv.Itoa(i.No) })}
}

// selection converts a selection below a place; zero fields do not restrict on either side.
func (r *reader) selection(at string, s *deadletters.Selection) deadletter.Selection {
	return deadletter.Selection{
		Namespace: s.Namespace, Kind: s.Kind, IDs: ids(s.IDs), Groups: r.groups(at+"/groups", s.Groups),
		Source: s.Source, Origin: s.Origin, Template: s.Template, State: s.State,
		Type: s.ErrorType, Text: s.Text, HeaderName: s.HeaderName, HeaderValue: s.HeaderValue,
		After: r.filterTime(at+"/after", s.After), Before: r.filterTime(at+"/before", s.Before),
		FirstAfter:  r.filterTime(at+"/first_after", s.FirstAfter),
		FirstBefore: r.filterTime(at+"/first_before", s.FirstBefore),
		MinReplays:  s.MinReplays, Replayed: s.Replayed, Retryable: s.Retryable, Parked: s.Parked,
		Reason: task.CaseReason(s.CaseReason), TaskState: task.State(s.TaskState),
	}
}

// redrive converts a request. Zero fields of the plan mean the defaults on both sides.
func (r *reader) redrive(req *deadletters.RedriveRequest) inbox.RedriveRequest {
	out := inbox.RedriveRequest{
		By: r.by(req.Act), Operation: req.Operation,
		Selection: r.selection("/selection", &req.Selection), Destination: r.text("/destination", req.Destination, false),
		Plan: deadletter.Plan{Canary: req.Plan.Canary, Factor: req.Plan.Factor, Largest: req.Plan.Largest,
			Observe: r.seconds("/plan/observe_seconds", req.Plan.ObserveSeconds), Rate: req.Plan.Rate,
			Limit: req.Plan.Limit, KeepAttempts: req.Plan.KeepAttempts, Priority: string(req.Plan.Priority),
			AtMostOnce: req.Plan.AtMostOnce},
		Stop: deadletter.StopRule(req.Stop), IncludeParked: req.IncludeParked, Start: req.Start,
	}
	if req.Edit != nil {
		edit := r.edit("/edit", req.Edit)
		out.Edit = &edit
	}
	return out
}

// shownRedrive converts a redrive. The selection is the frozen one, with its defaults filled in.
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
	out := deadletters.Selection{
		Namespace: s.Namespace, Kind: s.Kind, Source: s.Source,
		Origin: posturl.Redact(s.Origin), Template: s.Template,
		State: s.State, ErrorType: s.Type, Text: s.Text, HeaderName: s.HeaderName,
		HeaderValue: s.HeaderValue, After: optionalTime(s.After), Before: optionalTime(s.Before),
		FirstAfter: optionalTime(s.FirstAfter), FirstBefore: optionalTime(s.FirstBefore), MinReplays: s.MinReplays,
		Replayed: s.Replayed, Retryable: s.Retryable, Parked: s.Parked,
		CaseReason: tasker.CaseReason(s.Reason), TaskState: tasker.TaskState(s.TaskState),
	}
	for _, id := range s.IDs {
		out.IDs = append(out.IDs, uuid.UUID(id))
	}
	for _, g := range s.Groups {
		out.Groups = append(out.Groups, g.String())
	}
	return out
}

// optionalTime returns the zero time for the zero Instant.
func optionalTime(i task.Instant) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return i.Time()
}

func shownPlan(p deadletter.Plan) deadletters.Plan {
	return deadletters.Plan{Canary: p.Canary, Factor: p.Factor, Largest: p.Largest,
		ObserveSeconds: max(p.Observe, 0).Seconds(), // deadletter.NoObservation is negative
		Rate:           p.Rate, Limit: p.Limit, KeepAttempts: p.KeepAttempts, Priority: tasker.Priority(p.Priority),
		AtMostOnce: p.AtMostOnce}
}

// shownItem converts an item; At is the zero time for one that is pending.
func shownItem(i deadletter.Item) deadletters.Item {
	return deadletters.Item{No: i.No, Kind: i.Kind, ID: uuid.UUID(i.ID),
		State: i.State, Wave: i.Wave, At: optionalTime(i.At), Message: i.Message,
		GroupID: shownGroupID(i.Group), Uncertain: i.Uncertain}
}

// shownPreview converts a preview. Lists are empty and not nil, so that JSON has [].
func shownPreview(p *inbox.Preview) deadletters.Preview {
	out := deadletters.Preview{Total: p.Total, Capped: p.Capped, Samples: []deadletters.PreviewItem{},
		Destinations: []deadletters.DestinationCheck{}, Problems: details(p.Problems), Plan: shownPlan(p.Plan),
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
