package scenario_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) hand(name string) (*hand, error) {
	h := in.workers[name]
	switch {
	case h == nil:
		return nil, badScript("there is no worker %q", name)
	case h.crashed:
		return nil, badScript("worker %q has crashed", name)
	}
	return h, nil
}

func (in *interpreter) first(a *args) (*hand, error) {
	name, err := a.place(0, "the worker")
	if err != nil {
		return nil, err
	}
	return in.hand(name)
}

func (in *interpreter) worker(a *args) ([]string, error) {
	name, err := a.place(0, "the worker's name")
	if err != nil {
		return nil, err
	}
	w, err := in.engine.Register(in.ctx, task.Worker{Name: name, Handlers: a.list("handlers"),
		Capabilities: a.list("caps"), Namespaces: a.list("namespaces"), HealthURL: a.text("health"),
		Transport: task.Transport(a.text("transport"))})
	if err != nil {
		return nil, err
	}
	in.workers[name] = &hand{id: w.ID, no: w.No, tokens: map[string]int64{}}
	return nil, nil
}

func (in *interpreter) claim(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	n := 1
	if err := a.number("n", &n); err != nil {
		return nil, err
	}
	leases, drain, err := in.engine.Poll(in.ctx, h.id, n, 0, a.flag("start"))
	if err != nil {
		return nil, err
	}
	return in.leases(h, leases, drain), nil
}

// leases prints the steps that a worker got, and keeps their tokens.
func (in *interpreter) leases(h *hand, leases []engine.Lease, drain bool) []string {
	var out []string
	for _, l := range leases {
		name := in.nameOf(l.Task.ID) + "." + l.Template.Steps[l.Step.Ordinal-1].Name
		h.tokens[name] = l.Step.Token
		line := fmt.Sprintf("%s %s token=%d until=%s", name, l.Step.State, l.Step.Token, in.sinceStart(l.Step.LeaseUntil))
		if l.Task.Context != nil {
			line += fmt.Sprintf(" context=%s", l.Task.Context)
		}
		for _, parent := range sortedNames(l.ParentResults) {
			line += fmt.Sprintf(" %s=%s", parent, l.ParentResults[parent])
		}
		for _, parent := range sortedNames(l.LargeParents) {
			line += fmt.Sprintf(" %s=<%d bytes>", parent, l.LargeParents[parent].Bytes)
		}
		if l.Checkpoint != nil {
			line += fmt.Sprintf(" checkpoint=%s", l.Checkpoint)
		}
		out = append(out, line)
	}
	switch {
	case drain:
		out = append(out, "drain")
	case len(leases) == 0:
		out = append(out, "nothing")
	}
	return out
}

// lease resolves "W TASK.STEP" with the worker's token, or the one in the command.
func (in *interpreter) lease(a *args) (string, engine.LeaseRef, error) {
	h, err := in.first(a)
	if err != nil {
		return "", engine.LeaseRef{}, err
	}
	name, err := a.place(1, "the step")
	if err != nil {
		return "", engine.LeaseRef{}, err
	}
	_, r, err := in.target(name)
	if err != nil {
		return "", engine.LeaseRef{}, err
	}
	ref := engine.LeaseRef{Step: r.ID, Token: h.tokens[name]}
	if v, ok := a.get("token"); ok {
		if ref.Token, err = strconv.ParseInt(v, 10, 64); err != nil {
			return "", ref, scriptError{err}
		}
	}
	return name, ref, nil
}

func (in *interpreter) begin(a *args) ([]string, error) {
	name, ref, err := in.lease(a)
	if err != nil {
		return nil, err
	}
	answers, err := in.engine.Start(in.ctx, []engine.LeaseRef{ref})
	if err != nil {
		return nil, err
	}
	return []string{in.answer(name, answers[0])}, nil
}

func (in *interpreter) answer(name string, l engine.LeaseAnswer) string {
	if l.Err != nil {
		return fmt.Sprintf("%s %s, %s", name, l.Status, task.CodeOf(l.Err))
	}
	if l.Status != engine.Held {
		return fmt.Sprintf("%s %s", name, l.Status)
	}
	return fmt.Sprintf("%s %s until=%s", name, l.Status, in.sinceStart(l.LeaseUntil))
}

func (in *interpreter) progress(a *args) ([]string, error) {
	name, ref, err := in.lease(a)
	if err != nil {
		return nil, err
	}
	p := engine.Progress{Note: a.text("note")}
	if v, ok := a.get("checkpoint"); ok {
		p.Checkpoint = []byte(v)
	}
	if err := a.number("percent", &p.Percent); err != nil {
		return nil, err
	}
	answer, err := in.engine.Report(in.ctx, ref, p)
	if err != nil {
		return nil, err
	}
	return []string{in.answer(name, answer)}, nil
}

func (in *interpreter) settle(a *args, r engine.Result) ([]string, error) {
	name, ref, err := in.lease(a)
	if err != nil {
		return nil, err
	}
	r.Step, r.Token = ref.Step, ref.Token
	answers, err := in.engine.Settle(in.ctx, []engine.Result{r})
	if err != nil {
		return nil, err
	}
	answer := answers[0]
	switch {
	case answer.Err != nil:
		return []string{fmt.Sprintf("%s refused, %s", name, task.CodeOf(answer.Err))}, nil
	case answer.NextRetryAt != 0:
		return []string{fmt.Sprintf("%s %s until=%s", name, answer.State, in.sinceStart(answer.NextRetryAt))}, nil
	}
	return []string{fmt.Sprintf("%s %s", name, answer.State)}, nil
}

func (in *interpreter) complete(a *args) ([]string, error) {
	r := engine.Result{Status: engine.ResultCompleted}
	if v, ok := a.get("result"); ok {
		r.Result = []byte(v)
	}
	if _, ok := a.get("large"); ok {
		l, err := in.sendLarge(a, "large")
		if err != nil {
			return nil, err
		}
		r.Large = l.Key
	}
	return in.settle(a, r)
}

func (in *interpreter) fail(a *args) ([]string, error) {
	f := &task.Failure{Type: a.text("type"), Code: a.text("code"), Class: failure.Class(a.text("class")),
		Message: a.text("message"), Retryable: !a.flag("fatal")}
	var after time.Duration
	if err := a.duration("retry_after", &after); err != nil {
		return nil, err
	}
	f.RetryAfterMS = after.Milliseconds()
	return in.settle(a, engine.Result{Status: engine.ResultFailed, Failure: f})
}

func (in *interpreter) release(a *args) ([]string, error) {
	return in.settle(a, engine.Result{Status: engine.ResultReleased})
}

func (in *interpreter) snooze(a *args) ([]string, error) {
	r := engine.Result{Status: engine.ResultSnoozed}
	if err := a.duration("for", &r.Snooze); err != nil {
		return nil, err
	}
	return in.settle(a, r)
}

func (in *interpreter) heartbeat(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	beat := engine.Beat{Worker: h.id, Draining: a.flag("draining")}
	if _, ok := a.get("only"); ok {
		beat.Leases = []engine.LeaseRef{}
		for _, name := range a.list("only") {
			_, r, err := in.target(name)
			if err != nil {
				return nil, err
			}
			beat.Leases = append(beat.Leases, engine.LeaseRef{Step: r.ID, Token: h.tokens[name]})
		}
	}
	answers, drain, err := in.engine.Heartbeat(in.ctx, beat)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range answers {
		out = append(out, in.answer(in.stepName(l.Step), l))
	}
	if drain {
		out = append(out, "drain")
	}
	return out, nil
}

func (in *interpreter) stepName(id task.ID) string {
	for _, name := range sortedNames(in.tasks) {
		_, rows, err := in.steps(in.tasks[name])
		if err != nil {
			continue // deleted
		}
		for _, r := range rows {
			if r.ID == id {
				return name + "." + r.name
			}
		}
	}
	return "unknown"
}

func (in *interpreter) drain(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	n, err := in.engine.Drain(in.ctx, h.id, a.flag("final"),
		engine.WorkerAct{Actor: a.text("by"), Reason: a.text("reason")})
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("%d released", n)}, nil
}

func (in *interpreter) workerName(no int64) string {
	for _, name := range sortedNames(in.workers) {
		if in.workers[name].no == no {
			return name
		}
	}
	return "worker " + strconv.FormatInt(no, 10)
}

func (in *interpreter) showWorkers(*args) ([]string, error) {
	list, err := in.engine.Workers(in.ctx, 24*time.Hour)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, w := range list {
		line := fmt.Sprintf("%s %s seen=%s", w.Name, w.State, in.sinceStart(w.LastHeartbeat))
		if b := in.engine.BreakerOf(w); b != task.BreakerClosed {
			line += " breaker=" + string(b)
		}
		if w.DrainsItself() {
			line += fmt.Sprintf(" drains_itself=%s", in.sinceStart(w.DrainedAt))
		} else if w.DrainedBy != "" {
			line += fmt.Sprintf(" drained=%s by=%s %q", in.sinceStart(w.DrainedAt), w.DrainedBy, w.DrainReason)
		}
		if w.Cordoned() {
			line += fmt.Sprintf(" cordoned=%s by=%s %q", in.sinceStart(w.CordonedAt), w.CordonedBy, w.CordonReason)
		}
		if w.ProbeFailures > 0 {
			line += fmt.Sprintf(" failures=%d %q", w.ProbeFailures, w.ProbeError)
		}
		out = append(out, line)
	}
	return out, nil
}
