package public

import (
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

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
		Stop: deadletter.StopRule{ReturnedShare: req.Stop.ReturnedShare, SamePrint: req.Stop.SamePrint,
			Failed: req.Stop.Failed},
		IncludeParked: req.IncludeParked, Start: req.Start,
	}
	if req.Edit != nil {
		edit := r.edit("/edit", req.Edit)
		out.Edit = &edit
	}
	return out
}
