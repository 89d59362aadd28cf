package scenario_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) replay(a *args) ([]string, error) {
	name, id, err := in.theTask(a)
	if err != nil {
		return nil, err
	}
	r, err := in.engine.Replay(in.ctx, id, engine.Replay{Actor: a.text("by"), Reason: a.text("reason"),
		ResetAttempts: a.flag("reset"), Priority: a.text("priority")})
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("%s %s steps=%d replays=%d priority=%s", name, r.Task.State, r.Steps, r.Task.Meta.Replays,
		in.engine.PriorityName(r.Task.Priority))}, nil
}

func (in *interpreter) showFailedTasks(a *args) ([]string, error) {
	f := engine.CaseFilter{Limit: 100, Status: task.CasePending, Fingerprint: a.text("error"),
		Reason: task.CaseReason(a.text("reason"))}
	if v, ok := a.get("retryable"); ok {
		retryable := v == "true"
		f.Retryable = &retryable
	}
	if s := a.text("status"); s != "" {
		f.Status = task.Resolution(s)
	}
	page, err := in.engine.FailedTasks(in.ctx, f)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range page.Tasks {
		note := l.Case.Replays
		fields := []field{{"reason", string(l.Case.Reason)}, {"error", l.Case.Fingerprint},
			{"retryable", strconv.FormatBool(l.Case.Retryable)},
			{"replays", strconv.Itoa(note.Count)}, {"by", note.By}}
		if l.Failed != nil {
			fields = append(fields, field{"attempt", strconv.Itoa(l.Failed.Number)}, field{"message", l.Failed.Failure.Message})
		}
		out = append(out, in.nameOf(l.Case.TaskID)+" "+line(fields))
	}
	return append(out, "total "+strconv.Itoa(page.Total)), nil
}

func (in *interpreter) showFailures(a *args) ([]string, error) {
	r, err := in.engine.FailureReport(in.ctx, a.text("namespace"))
	if err != nil {
		return nil, err
	}
	out := []string{fmt.Sprintf("%s since %s replayable=%d", in.sinceStart(r.At), in.sinceStart(r.Since), r.Replayable)}
	for _, c := range r.Reasons {
		out = append(out, fmt.Sprintf("%s %d", c.Reason, c.Cases))
	}
	for _, c := range r.Fingerprints {
		fresh := ""
		if c.New {
			fresh = " new"
		}
		out = append(out, fmt.Sprintf("%s/%s '%s' %d replayable=%d%s", c.Namespace, c.Reason, c.Fingerprint, c.Cases,
			c.Replayable, fresh))
	}
	for _, alarm := range r.Alarms {
		out = append(out, fmt.Sprintf("alarm %s: %s", alarm.Kind, alarm.Message()))
	}
	return out, nil
}

func (in *interpreter) edit(a *args) ([]string, error) {
	name, id, err := in.theTask(a)
	if err != nil {
		return nil, err
	}
	edit := engine.ContextEdit{Actor: a.text("by"), Reason: a.text("reason"), Replay: !a.flag("no_retry"),
		ResetAttempts: a.flag("reset")}
	if v, ok := a.get("context"); ok {
		edit.Context = []byte(v)
	}
	if v, ok := a.get("merge"); ok {
		edit.Merge = []byte(v)
	}
	if _, ok := a.get("version"); ok {
		edit.Version = new(int)
		if err := a.number("version", edit.Version); err != nil {
			return nil, err
		}
	}
	out, err := in.engine.EditContext(in.ctx, id, edit)
	if err != nil {
		return nil, err
	}
	fields := []field{{"changed", strconv.FormatBool(out.Changed)}, {"version", strconv.Itoa(out.Task.Meta.ContextEdits)},
		{"old", string(out.Old)}, {"new", string(out.Task.Context)}, {"ended", strings.Join(out.Ended, ",")}}
	if out.Replayed != nil {
		fields = append(fields, field{"steps", strconv.Itoa(out.Replayed.Steps)})
	}
	return []string{fmt.Sprintf("%s %s %s", name, out.Task.State, line(fields))}, nil
}
