// Package news gives events of the inbox their public form, for streams and webhooks.
package news

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Event returns an event as a stream shows it, without a position.
func Event(e *deadletter.Event) tasker.Event {
	out := tasker.Event{Type: tasker.EventType(e.Kind), At: e.At.Time(), Namespace: e.Namespace, Cause: e.Cause}
	switch e.Kind {
	case deadletter.EventRedrive:
		out.Redrive = redrive(e)
	case deadletter.EventReplay:
		out.Replay = replay(e)
	case deadletter.EventLost, deadletter.EventFound:
		out.Source = &tasker.SourceEvent{Name: e.Object, Error: e.Cause}
	case deadletter.EventRetrying, deadletter.EventRetried, deadletter.EventDiscarded:
		out.Cause, out.Letters = "", letters(e)
	case deadletter.EventOutageOpened, deadletter.EventOutageClosed:
		out.Outage = outage(e)
	case deadletter.EventPauseBegun, deadletter.EventPauseEnded:
		out.Pause = pause(e)
	case deadletter.EventApprovalRequested, deadletter.EventApprovalDecided:
		out.Cause, out.Approval = "", approval(e)
	case deadletter.EventFired, deadletter.EventMissed:
		out.Schedule = schedule(e)
	default:
		out.Group = &tasker.GroupEvent{GroupID: e.Object, Title: e.Title, Where: e.Where, FromState: e.From, State: e.To,
			Failures: e.Failures, ThisHour: e.Hour, UsualPerHour: e.Usual}
	}
	return out
}

func letters(e *deadletter.Event) *tasker.LetterEvent {
	out := &tasker.LetterEvent{Source: e.Object, Origin: posturl.Redact(e.Where), Count: e.Total, Result: e.To,
		Kind: e.Title, Reason: e.Cause, First: make([]tasker.EventLetter, len(e.First))}
	for i, l := range e.First {
		out.First[i] = tasker.EventLetter{LetterUUID: parsed(l.ID), MessageID: l.MessageID}
	}
	return out
}

func parsed(text string) uuid.UUID {
	id, _ := uuid.Parse(text)
	return id
}

func outage(e *deadletter.Event) *tasker.OutageEvent {
	out := &tasker.OutageEvent{OutageUUID: parsed(e.Object), Handler: e.Where, Title: e.Title, Failures: int(e.Failures)}
	if o := e.Outage; o != nil {
		out.Capabilities, out.GroupID, out.OpenedAt = o.Capabilities, o.Group, o.OpenedAt.Time()
		out.Probes, out.Spared, out.ClosedBy = o.Probes, o.Spared, o.ClosedBy
	}
	return out
}

func pause(e *deadletter.Event) *tasker.PauseEvent {
	p := e.Pause
	out := &tasker.PauseEvent{Kind: p.Kind, PausedBy: p.By, PausedAt: p.At.Time(), Until: p.Until.Ptr(),
		EndedBy: p.EndedBy, Capabilities: p.Capabilities}
	if p.Kind == string(task.PauseTemplate) {
		out.Template = p.Name
	} else {
		out.Handler = p.Name
	}
	return out
}

func approval(e *deadletter.Event) *tasker.ApprovalEvent {
	out := &tasker.ApprovalEvent{StepUUID: parsed(e.Object), Step: e.Where, Approval: e.Title, Result: e.To,
		Reason: e.Cause}
	if a := e.Approval; a != nil {
		out.TaskUUID, out.Template, out.Until, out.DecidedBy = parsed(a.Task), a.Template, a.Until.Ptr(), a.By
	}
	return out
}

func schedule(e *deadletter.Event) *tasker.ScheduleEvent {
	s := e.Schedule
	out := &tasker.ScheduleEvent{Name: e.Object, Kind: s.Kind, Reason: s.Reason, Count: e.Total, First: s.First.Time(),
		Last: s.Last.Time()}
	for _, id := range s.Tasks {
		out.Tasks = append(out.Tasks, parsed(id))
	}
	return out
}

func redrive(e *deadletter.Event) *tasker.RedriveEvent {
	out := &tasker.RedriveEvent{RedriveUUID: parsed(e.Object), FromState: e.From, State: e.To, HaltReason: e.Cause,
		Total: e.Total, Decided: e.Decided, Wave: e.Wave}
	if e.Counts != nil {
		out.Counts = new(*e.Counts)
	}
	return out
}

func replay(e *deadletter.Event) *tasker.ReplayEvent {
	out := &tasker.ReplayEvent{ReplayUUID: parsed(e.Object), FromState: e.From, State: e.To, Why: e.Cause}
	if r := e.Replay; r != nil {
		out.Source, out.Topic, out.Into, out.Left = r.Source, r.Topic, string(r.Into), r.Left
		out.Letters, out.Tasks, out.Known, out.Gone = r.Counts.Letters, r.Counts.Tasks, r.Counts.Known, r.Counts.Gone
	}
	return out
}

// Payload returns the body of a webhook: a deadletters.WebhookEvent in JSON.
func Payload(e *deadletter.Event) ([]byte, error) {
	shown := Event(e)
	return encode(deadletters.WebhookEvent{Type: deadletters.WebhookType(e.Hook()), Timestamp: shown.At,
		Data: deadletters.WebhookData{Namespace: shown.Namespace, Cause: shown.Cause, Group: shown.Group,
			Redrive: shown.Redrive, Replay: shown.Replay, Source: shown.Source, Letters: shown.Letters, Outage: shown.Outage,
			Pause: shown.Pause, Schedule: shown.Schedule, Approval: shown.Approval}})
}

// Test returns the payload of a test.
func Test(now time.Time) ([]byte, error) {
	return encode(deadletters.WebhookEvent{Type: deadletters.WebhookTest, Timestamp: now})
}

func encode(e deadletters.WebhookEvent) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event for a webhook: %w", err)
	}
	return body, nil
}
