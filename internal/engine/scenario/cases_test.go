package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) configureCases(a *args) error {
	c := &in.config
	durations := map[string]*time.Duration{"stale_in_process": &c.StalenessThresholds.StepsInProcess,
		"stale_in_retry":        &c.StalenessThresholds.WaitingForRetry,
		"stale_in_dependencies": &c.StalenessThresholds.WaitingForDependencies,
		"unavailable_after":     &c.Cases.WorkerUnavailableAfter}
	for key, d := range durations {
		if err := a.duration(key, d); err != nil {
			return err
		}
	}
	c.Cases.AutoResolve = a.text("auto_resolve") == "true"
	c.Cases.Enabled = settings.Switch(a.text("cases"))
	c.StalenessDetection.Enabled = settings.Switch(a.text("detection"))
	c.StalenessDetection.DryRun = a.text("dry_run") == "true"
	return a.number("batch", &c.StalenessDetection.BatchSize)
}

// smuggle stores a template past the checks: STEP:PARENT,PARENT ...
func (in *interpreter) smuggle(a *args) ([]string, error) {
	name, err := a.place(0, "the template's name")
	if err != nil {
		return nil, err
	}
	t := &task.Template{Namespace: "default", Name: name, Version: "1", Fingerprint: name, CreatedAt: in.now}
	for _, word := range a.places[1:] {
		step, parents, _ := strings.Cut(word, ":")
		spec := task.StepSpec{Name: step, Handler: "h", Retry: task.DefaultRetry()}
		if parents != "" {
			spec.Dependencies = strings.Split(parents, ",")
		}
		t.Steps = append(t.Steps, spec)
	}
	t.Link()
	return nil, in.world.store.Write(in.ctx, func(ctx context.Context, tx engine.Tx) error {
		fresh := *t
		_, err := tx.InsertTemplate(ctx, &fresh)
		return err
	})
}

func (in *interpreter) caseOf(a *args) (*task.Case, error) {
	_, id, err := in.theTask(a)
	if err != nil {
		return nil, err
	}
	return in.engine.CaseOfTask(in.ctx, id)
}

func (in *interpreter) openCase(a *args) ([]string, error) {
	_, id, err := in.theTask(a)
	if err != nil {
		return nil, err
	}
	req := engine.CaseRequest{Actor: a.text("by"), Reason: a.text("reason"), Metadata: []byte(a.text("metadata"))}
	if len(req.Metadata) == 0 {
		req.Metadata = nil
	}
	c, err := in.engine.OpenCase(in.ctx, id, req)
	if err != nil {
		return nil, err
	}
	return []string{line(in.caseFields(c))}, nil
}

func (in *interpreter) caseFields(c *task.Case) []field {
	return []field{{"reason", string(c.Reason)}, {"from", string(c.OriginalState)}, {"opened", in.sinceStart(c.OpenedAt)},
		{"status", string(c.Status)},
		{"notes", c.Notes}, {"resolved", in.sinceStart(c.ResolvedAt)}, {"by", c.ResolvedBy}}
}

func (in *interpreter) updateCase(a *args) ([]string, error) {
	c, err := in.caseOf(a)
	if err != nil {
		return nil, err
	}
	ch := task.CaseChange{Status: task.Resolution(a.text("status")), Actor: a.text("by"), Reopen: a.flag("reopen")}
	if notes, ok := a.get("notes"); ok {
		ch.Notes = &notes
	}
	if m, ok := a.get("metadata"); ok {
		ch.Metadata = []byte(m)
	}
	c, err = in.engine.UpdateCase(in.ctx, c.ID, ch)
	if err != nil {
		return nil, err
	}
	return []string{string(c.Status)}, nil
}

func (in *interpreter) showCases(a *args) ([]string, error) {
	f := engine.CaseFilter{Limit: 100, Status: task.Resolution(a.text("status")),
		Reason: task.CaseReason(a.text("reason"))}
	cases, err := in.engine.Cases(in.ctx, f)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range cases {
		if len(a.places) == 0 || a.places[0] == in.nameOf(c.TaskID) {
			out = append(out, in.nameOf(c.TaskID)+" "+line(in.caseFields(c)))
		}
	}
	return out, nil
}

func (in *interpreter) showCaseNotes(a *args) ([]string, error) {
	c, err := in.caseOf(a)
	if err != nil {
		return nil, err
	}
	var out []string
	if c.Metadata != nil {
		var sorted map[string]json.RawMessage
		if err := json.Unmarshal(c.Metadata, &sorted); err != nil {
			return nil, err
		}
		b, err := json.Marshal(sorted)
		if err != nil {
			return nil, err
		}
		out = append(out, string(b))
	}
	if c.Recovery != nil {
		out = append(out, "recovered "+line(in.recoveryFields(c.Recovery)))
	}
	if c.Replays.Count > 0 {
		out = append(out,
			"replayed "+
				line([]field{{"count", strconv.Itoa(c.Replays.Count)}, {"at", in.sinceStart(task.At(*c.Replays.At))},
					{"by", c.Replays.By}}))
	}
	return out, nil
}

func (in *interpreter) recoveryFields(r *task.Recovery) []field {
	fields := []field{{"at", in.sinceStart(task.At(r.At))}, {"state", string(r.State)}, {"by", r.By}, {"how", r.How}}
	if r.FinishedAt != nil {
		fields = append(fields, field{"finished", in.sinceStart(task.At(*r.FinishedAt))})
	}
	return fields
}

// showStory prints the occurrences of a task's last case, oldest first, and its notes.
func (in *interpreter) showStory(a *args) ([]string, error) {
	c, err := in.caseOf(a)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range append(c.Former, c.Latest()) {
		fields := []field{{"at", in.sinceStart(o.At)}, {"reason", string(o.Reason)}, {"cause", string(o.Cause)},
			{"from", string(o.OriginalState)}, {"step", o.Step},
			{"class", string(o.Class)}, {"error", o.Fingerprint}, {"retryable", strconv.FormatBool(o.Retryable)},
			{"message", o.Message}}
		if len(o.Snapshot) == 0 {
			fields = append(fields, field{"snapshot", "missing"})
		}
		out = append(out, fmt.Sprintf("%d %s", o.No, line(fields)))
		if o.Recovery != nil {
			out = append(out, "  recovered "+line(in.recoveryFields(o.Recovery)))
		}
	}
	for _, n := range c.Thread {
		out = append(out, fmt.Sprintf("note %d %s by=%s %s", n.No, in.sinceStart(n.At), n.Author, n.Text))
	}
	return out, nil
}

func (in *interpreter) showSnapshot(a *args) ([]string, error) {
	c, err := in.caseOf(a)
	if err != nil {
		return nil, err
	}
	var s struct {
		TaskName  string          `json:"task_name"`
		State     string          `json:"current_state"`
		InState   float64         `json:"time_in_state_minutes"`
		Threshold float64         `json:"threshold_minutes"`
		Age       float64         `json:"task_age_minutes"`
		Priority  string          `json:"priority"`
		Context   json.RawMessage `json:"context"`
		Detail    string          `json:"detail"`
		Template  struct{ Steps []struct{ Name string } }
		Steps     []struct {
			Name        string
			State       string `json:"current_state"`
			Attempts    int
			MaxAttempts int `json:"max_attempts"`
			Worker      string
			LastError   *struct{ Message string } `json:"last_error"`
		}
	}
	if err := json.Unmarshal(c.Snapshot, &s); err != nil {
		return nil, err
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	out := []string{s.TaskName + " " +
		line([]field{{"state", s.State}, {"minutes", number(s.InState)}, {"threshold", number(s.Threshold)},
			{"age", number(s.Age)},
			{"priority", s.Priority}, {"context", string(s.Context)}, {"template_steps", strconv.Itoa(len(s.Template.Steps))},
			{"detail", s.Detail}})}
	for _, step := range s.Steps {
		fields := []field{{"state", step.State}, {"attempts", fmt.Sprintf("%d/%d", step.Attempts, step.MaxAttempts)},
			{"worker", step.Worker}}
		if step.LastError != nil {
			fields = append(fields, field{"error", step.LastError.Message})
		}
		out = append(out, step.Name+" "+line(fields))
	}
	return out, nil
}

func (in *interpreter) showQueue(a *args) ([]string, error) {
	f := engine.CaseFilter{Limit: 100, Reason: task.CaseReason(a.text("reason"))}
	if err := a.number("limit", &f.Limit); err != nil {
		return nil, err
	}
	queue, err := in.engine.InvestigationQueue(in.ctx, f)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, q := range queue {
		recovered := ""
		if q.Recovered {
			recovered = "recovered"
		}
		out = append(out,
			strings.TrimSpace(fmt.Sprintf("%s %s score=%.0f now=%s %s", in.nameOf(q.Case.TaskID), q.Case.Reason,
				math.Floor(q.Score), q.Task.State, recovered)))
	}
	return out, nil
}

func (in *interpreter) showStats(*args) ([]string, error) {
	counts, err := in.engine.CountCases(in.ctx, engine.CaseFilter{})
	var out []string
	for _, c := range counts {
		out = append(out, fmt.Sprintf("%s %s %d", c.Reason, c.Status, c.Cases))
	}
	return out, err
}

func (in *interpreter) showAudit(a *args) ([]string, error) {
	f := engine.ActFilter{Limit: 100, Actor: a.text("by"), Kind: a.text("kind")}
	if len(a.places) > 0 {
		id, err := in.taskID(a.places[0])
		if err != nil {
			return nil, err
		}
		f.Task = id
	}
	acts, err := in.engine.Audit(in.ctx, f)
	var out []string
	for _, x := range acts {
		about := "task"
		switch {
		case !x.CaseID.IsZero():
			about = "case"
		case !x.StepID.IsZero():
			about = "step"
		}
		out = append(out, fmt.Sprintf("%s %s %s %s by %s: %s (%s -> %s)", in.sinceStart(x.At), in.nameOf(x.TaskID), about,
			x.Kind, x.Actor, x.Reason, x.From, x.To))
	}
	return out, err
}

func (in *interpreter) detect(a *args) ([]string, error) {
	batch := 0
	if err := a.number("batch", &batch); err != nil {
		return nil, err
	}
	found, err := in.engine.DetectStaleness(in.ctx, batch, a.flag("dry"))
	var out []string
	for _, d := range found {
		if d.Err != nil {
			err = errors.Join(err, d.Err)
		}
		out = append(out, fmt.Sprintf("%s %s %s of %s: %s case=%t error=%t", in.nameOf(d.Task), d.State, d.InState,
			d.Threshold, d.Action, d.Case, d.Errored))
	}
	return out, err
}

func (in *interpreter) showStaleness(a *args) ([]string, error) {
	list, err := in.engine.Staleness(in.ctx, engine.StalenessFilter{Limit: 100, Health: task.Health(a.text("health"))})
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s %s %s %s of %s (%s)", in.nameOf(s.Task.ID), s.Health, s.Task.State, s.Used,
			s.Threshold, strings.TrimSpace(string(s.Source)+" "+string(s.Promise))))
	}
	return out, err
}
