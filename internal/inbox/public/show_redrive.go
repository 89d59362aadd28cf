package public

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/posturl"
	"github.com/taskerhq/tasker/internal/task"
)

// shownRedrive converts a redrive. The selection is the frozen one, with its defaults filled in.
func shownRedrive(r *deadletter.Redrive) deadletters.Redrive {
	return deadletters.Redrive{
		RedriveUUID: uuid.UUID(r.ID), Namespace: r.Namespace, Operation: r.Operation,
		Selection: shownSelection(&r.Selection), Destination: posturl.Redact(r.Destination),
		Edit: shownEdit(r.Edit), Plan: shownPlan(r.Plan), Stop: shownStop(r.Stop), IncludeParked: r.IncludeParked,
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

func shownStop(s deadletter.StopRule) deadletters.StopRule {
	return deadletters.StopRule{ReturnedShare: s.ReturnedShare, SamePrint: s.SamePrint, Failed: s.Failed}
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
		Stop: shownStop(p.Stop)}
	for _, s := range p.Samples {
		item := deadletters.PreviewItem{Kind: s.Kind, ID: uuid.UUID(s.ID),
			Destination: posturl.Redact(s.Destination), Changes: s.Changes, Problem: s.Problem}
		out.Samples = append(out.Samples, item)
	}
	for _, d := range p.Destinations {
		d.Destination = posturl.Redact(d.Destination)
		out.Destinations = append(out.Destinations, d)
	}
	return out
}
