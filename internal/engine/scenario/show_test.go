package scenario_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

type field struct{ key, value string }

func line(fields []field) string {
	var words []string
	for _, f := range fields {
		if f.value != "" && f.value != "0" && f.value != "-" {
			words = append(words, f.key+"="+f.value)
		}
	}
	return strings.Join(words, " ")
}

func (in *interpreter) taskFields(t *task.Task) []field {
	c := t.Counts
	return []field{
		{"state", string(t.State)}, {"pending", strconv.Itoa(c.Pending)}, {"active", strconv.Itoa(c.Active)},
		{"waiting", strconv.Itoa(c.Waiting)},
		{"done", strconv.Itoa(c.Done)}, {"failed", strconv.Itoa(c.Failed)}, {"cancelled", strconv.Itoa(c.Cancelled)},
		{"run_at", in.sinceStart(t.RunAt)}, {"deadline", in.sinceStart(t.DeadlineAt)},
		{"finished", in.sinceStart(t.FinishedAt)},
		{"cancelled_by", t.Meta.CancelledBy}, {"cancel_reason", t.Meta.CancelReason},
	}
}

func (in *interpreter) stepFields(r row) []field {
	due := task.Instant(0)
	if r.Queue == task.Timers {
		due = task.Instant(r.Key)
	}
	worker := ""
	if r.State.Leased() {
		worker = in.workerName(r.WorkerNo)
	}
	progress := ""
	if r.Progress > 0 {
		progress = strconv.Itoa(r.Progress) + "%"
	}
	result := string(r.Result)
	if l := task.LargeResultOf(r.ID, r.Result); l != nil {
		result = fmt.Sprintf("<%d bytes>", l.Bytes)
	}
	return []field{
		{"state", string(r.State)}, {"attempts", fmt.Sprintf("%d/%d", r.Attempts, r.MaxAttempts)},
		{"open_parents", strconv.Itoa(r.OpenParents)},
		{"worker", worker}, {"until", in.sinceStart(r.LeaseUntil)}, {"due", in.sinceStart(due)},
		{"progress", progress}, {"note", r.Note}, {"result", result},
	}
}

func (in *interpreter) theTask(a *args) (name string, id task.ID, err error) {
	if name, err = a.place(0, "the task"); err != nil {
		return "", task.ID{}, err
	}
	id, err = in.taskID(name)
	return name, id, err
}

func (in *interpreter) shown(a *args) (*task.Task, []row, error) {
	_, id, err := in.theTask(a)
	if err != nil {
		return nil, nil, err
	}
	return in.steps(id)
}

func (in *interpreter) showTask(a *args) ([]string, error) {
	t, _, err := in.shown(a)
	if err != nil {
		return nil, err
	}
	return []string{line(in.taskFields(t))}, nil
}

func (in *interpreter) showSteps(a *args) ([]string, error) {
	_, rows, err := in.shown(a)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rows {
		out = append(out, r.name+" "+line(in.stepFields(r)))
	}
	return out, nil
}

func (in *interpreter) showHistory(a *args) ([]string, error) {
	t, rows, err := in.shown(a)
	if err != nil {
		return nil, err
	}
	records, err := in.engine.Records(in.ctx, t.ID)
	if err != nil {
		return nil, err
	}
	names := map[task.ID]string{t.ID: "task"}
	for _, r := range rows {
		names[r.ID] = r.name
	}
	type entry struct {
		at   task.Instant
		text string
	}
	var all []entry
	for _, x := range records.Attempts {
		all = append(all,
			entry{x.FinishedAt, fmt.Sprintf("%s %s -> %s %s", names[x.StepID], x.Outcome, x.After, in.attemptFields(x))})
	}
	for _, x := range records.Acts {
		of := x.StepID
		if of.IsZero() {
			of = t.ID
		}
		all = append(all,
			entry{x.At, fmt.Sprintf("%s %s by %s: %s (%s -> %s)", names[of], x.Kind, x.Actor, x.Reason, x.From, x.To)})
	}
	for _, x := range records.Events {
		all = append(all, entry{x.At, strings.TrimSpace(fmt.Sprintf("task %s -> %s %s", x.From, x.To, x.Cause))})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	var out []string
	for _, e := range all {
		out = append(out, in.sinceStart(e.at)+" "+e.text)
	}
	return out, nil
}

func (in *interpreter) attemptFields(x task.Attempt) string {
	worker := ""
	if x.WorkerNo != 0 {
		worker = in.workerName(x.WorkerNo)
	}
	fields := []field{{"attempt", strconv.Itoa(x.Number)}, {"token", strconv.FormatInt(x.Token, 10)}, {"worker", worker}}
	if x.Failure != nil {
		fields = append(fields, field{"type", x.Failure.Type}, field{"message", x.Failure.Message})
	}
	return line(fields)
}

func (in *interpreter) list(a *args) ([]string, error) {
	f := engine.TaskFilter{Limit: 100, Tag: a.text("tag")}
	if s := a.text("state"); s != "" {
		f.States = []task.State{task.State(s)}
	}
	tasks, _, err := in.engine.Tasks(in.ctx, f)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range tasks {
		out = append(out, in.nameOf(t.ID)+" "+string(t.State))
	}
	return out, nil
}

func (in *interpreter) expect(a *args) ([]string, error) {
	kind, err := a.place(0, "task or step")
	if err != nil {
		return nil, err
	}
	name, err := a.place(1, "its name")
	if err != nil {
		return nil, err
	}
	var fields []field
	switch kind {
	case "task":
		id, err := in.taskID(name)
		if err != nil {
			return nil, err
		}
		t, _, err := in.steps(id)
		if err != nil {
			return nil, err
		}
		fields = in.taskFields(t)
	case "step":
		_, r, err := in.target(name)
		if err != nil {
			return nil, err
		}
		fields = in.stepFields(r)
	default:
		return nil, badScript("expect task or step, not %q", kind)
	}
	var wrong []string
	for _, f := range fields {
		if want, ok := a.get(f.key); ok && want != f.value {
			wrong = append(wrong, f.key+"="+f.value)
		}
	}
	if wrong != nil {
		return nil, badScript("it is %s", strings.Join(wrong, " "))
	}
	return nil, nil
}
