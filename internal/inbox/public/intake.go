package public

import (
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
)

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

func shownPreviews(list []inbox.IntakePreview) []deadletters.IntakePreview {
	var out []deadletters.IntakePreview
	for _, p := range list {
		var shown deadletters.IntakePreview
		if t := p.Task; t != nil {
			shown.Task = &deadletters.IntakeTask{TaskType: t.TaskType, Template: t.Template, Priority: t.Priority,
				IdempotencyKey: t.Key, OrderingKey: t.OrderingKey, CorrelationID: t.CorrelationID,
				DelaySeconds: t.Delay.Seconds(), ContextBytes: len(t.Context)}
		} else {
			shown.Refusal = &deadletters.IntakeRefusal{Code: p.Refusal.Code, Reason: p.Refusal.Reason}
		}
		out = append(out, shown)
	}
	return out
}
