package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/operate"
)

// Options configures Run.
type Options struct {
	// Config of the engine; zero fields take defaults.
	Config settings.Config
	// Start is the time of the submission; by default now.
	Start time.Time
}

// Bounds of a simulation.
const (
	maxRounds = 100_000
	maxTime   = 10 * 366 * 24 * time.Hour
	leases    = 100 // in one poll
	// quietRounds without work end a moment, because a loop may make work for an earlier one.
	quietRounds = 3
)

// Run simulates a task of t. others must have the templates that its steps name. The error is a *tasker.Error if
// the script does not fit the template, or the context not its schema.
func Run(ctx context.Context, t *task.Template, others []*task.Template, script *Script, o Options,
) (*operate.Simulation, error) {
	out, err := begin(ctx, t, others, script, o)
	return out, public(err)
}

func public(err error) error {
	var refused *task.Error
	if !errors.As(err, &refused) {
		return err
	}
	out := &tasker.Error{Code: tasker.Code(refused.Code), Message: refused.Message, Hint: refused.Hint}
	for _, p := range refused.Problems {
		out.Details = append(out.Details, tasker.Detail(p))
	}
	return out
}

func begin(ctx context.Context, t *task.Template, others []*task.Template, script *Script, o Options,
) (*operate.Simulation, error) {
	if err := script.fits(append([]*task.Template{t}, others...)); err != nil {
		return nil, err
	}
	store, err := sqlite.OpenMemory(ctx, &sqlite.Options{Seed: 1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }() // it is in memory
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	o.Start = o.Start.Truncate(time.Microsecond) // like stored times
	r := &run{script: script, now: o.Start, fails: map[task.ID]int{}}
	e, err := engine.New(ctx, store, engine.Options{Config: o.Config, Now: func() time.Time { return r.now },
		Roll: func() float64 { return 0.5 }, Schemas: func(schema []byte) (engine.SchemaChecker, error) {
			return template.CompileSchema(schema)
		}})
	if err != nil {
		return nil, err
	}
	r.engine, r.upkeep = e, upkeep.New(e, slog.New(slog.DiscardHandler))
	for _, def := range append([]*task.Template{t}, others...) {
		if _, _, err := e.RegisterTemplate(ctx, def, engine.Registration{}); err != nil {
			return nil, err
		}
		r.namespaces = append(r.namespaces, def.Namespace)
		for _, s := range def.Steps {
			r.capabilities = append(r.capabilities, s.Capabilities...)
		}
	}
	r.capabilities, r.namespaces = task.Capabilities(r.capabilities), task.Capabilities(r.namespaces)
	receipts, err := e.Submit(ctx, []engine.Submission{{Name: t.Name, Namespace: t.Namespace, Version: t.Version,
		Context: script.Context}}, false)
	if err != nil {
		return nil, err
	}
	r.task = receipts[0].ID
	stuck, err := r.toEnd(ctx)
	if err != nil {
		return nil, err
	}
	return r.outcome(ctx, t, o.Start, stuck)
}

// Sources is Run for YAML: the template first, and the script. The error is as from Run, or lists what is not valid.
func Sources(ctx context.Context, templates []string, script string, o Options) (*operate.Simulation, error) {
	list := make([]*task.Template, len(templates))
	for i, source := range templates {
		var err error
		if list[i], err = template.Parse(fmt.Sprintf("template %d", i+1), []byte(source), o.level); err != nil {
			return nil, public(err)
		}
	}
	play, err := ReadScript("script", []byte(script))
	if err != nil {
		return nil, err
	}
	return Run(ctx, list[0], list[1:], play, o)
}

func (o Options) level(name string) (int, bool) {
	for _, p := range o.Config.Priorities {
		if p.Name == name {
			return p.Level, true
		}
	}
	return 0, false
}

func (s *Script) fits(templates []*task.Template) error {
	var problems []task.Problem
	for name := range s.Steps {
		if !slices.ContainsFunc(templates, func(t *task.Template) bool { return len(t.Named([]string{name})) > 0 }) {
			problems = append(problems, task.Problem{Location: "/steps", Message: fmt.Sprintf("there is no step %q", name)})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b task.Problem) int { return len(a.Message) - len(b.Message) })
	return &task.Error{Code: task.Invalid, Message: "the script does not fit the template", Problems: problems}
}

type run struct {
	script       *Script
	engine       *engine.Engine
	upkeep       *upkeep.Upkeep
	now          time.Time
	namespaces   []string
	capabilities []string
	task         task.ID
	worker       task.ID
	fails        map[task.ID]int // failures of steps so far
}

// toEnd runs the task until it is settled, or returns why it is stuck.
func (r *run) toEnd(ctx context.Context) (stuck string, err error) {
	began, quiet, last := r.now, 0, task.Counts{}
	for range maxRounds {
		if err := r.settleDue(ctx); err != nil {
			return "", err
		}
		t, steps, err := r.engine.Steps(ctx, r.task)
		if err != nil {
			return "", err
		}
		if t.State.Settled() {
			return "", nil
		}
		decided, err := r.decide(ctx, t, steps)
		if err != nil || decided {
			if err != nil {
				return "", err
			}
			continue
		}
		next, total, err := r.next(ctx)
		if quiet++; total != last {
			quiet, last = 0, total
		}
		if err == nil && quiet < quietRounds {
			continue
		}
		switch {
		case err != nil:
			return "", err
		case next == 0:
			return r.waiting(ctx, t, steps)
		case next.Time().Sub(began) > maxTime:
			return fmt.Sprintf("it goes on after %s", maxTime), nil
		}
		r.now, quiet = next.Time(), 0
		r.worker = task.ID{} // its heartbeats have stopped
	}
	return fmt.Sprintf("it goes on after %d rounds", maxRounds), nil
}

// settleDue handles due timers and workers' steps.
func (r *run) settleDue(ctx context.Context) error {
	for {
		if err := r.upkeep.RunOnce(ctx); err != nil {
			return err
		}
		if r.worker.IsZero() {
			w, err := r.engine.Register(ctx, task.Worker{Name: "simulation", Namespaces: r.namespaces,
				Capabilities: r.capabilities, Capacity: leases})
			if err != nil {
				return err
			}
			r.worker = w.ID
		}
		held, _, err := r.engine.Poll(ctx, r.worker, leases, 0, true)
		if err != nil || len(held) == 0 {
			return err
		}
		results := make([]engine.Result, len(held))
		for i, l := range held {
			results[i] = r.result(l)
		}
		if _, err := r.engine.Settle(ctx, results); err != nil {
			return err
		}
	}
}

func (r *run) result(l engine.Lease) engine.Result {
	out := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
	act := r.script.Steps[l.Template.Spec(&l.Step).Name]
	out.Result = act.Result
	if f := act.Fail; f != nil && (f.Times == 0 || r.fails[l.Step.ID] < f.Times) {
		r.fails[l.Step.ID]++
		out.Status, out.Result, out.Failure = engine.ResultFailed, nil, f.failure()
	}
	return out
}

// decide applies the next decision of the script to a waiting step, and reports whether there was one.
func (r *run) decide(ctx context.Context, t *task.Task, steps []*task.Step) (bool, error) {
	def, err := r.engine.TemplateOf(ctx, t.DefID)
	if err != nil {
		return false, err
	}
	waits, err := r.engine.WaitsOf(ctx, steps)
	if err != nil {
		return false, err
	}
	for _, s := range steps {
		act := r.script.Steps[def.Spec(s).Name]
		if w := waits[s.ID]; w.Kind == task.WaitSignal && act.Result != nil {
			_, _, err := r.engine.SendSignal(ctx, engine.SignalRequest{SignalName: task.SignalName{Namespace: w.Namespace},
				Name: w.Name, Key: w.Key, Payload: act.Result})
			return true, err
		}
		if s.State != task.StepWaiting || act.Approve == nil && act.Reject == nil {
			continue
		}
		do := engine.StepAct{Kind: engine.ApproveStep, Actor: "simulation"}
		if act.Approve != nil {
			do.Reason = *act.Approve
		} else {
			do.Kind, do.Reason = engine.RejectStep, *act.Reject
		}
		do.Reason = cmp.Or(do.Reason, "as the script says")
		_, err := r.engine.Operate(ctx, t.ID, s.ID, do)
		return true, err
	}
	return false, nil
}

// next returns the next due time, 0 for never, and the total counts of unsettled tasks.
func (r *run) next(ctx context.Context) (next task.Instant, total task.Counts, err error) {
	earlier := func(at task.Instant) {
		if at > task.At(r.now) && (next == 0 || at < next) {
			next = at
		}
	}
	tasks, err := r.live(ctx)
	if err != nil {
		return 0, total, err
	}
	families, err := r.engine.BareSteps(ctx, tasks)
	if err != nil {
		return 0, total, err
	}
	for i, t := range tasks {
		total = total.Plus(t.Counts)
		earlier(t.DeadlineAt)
		for _, s := range families[i] {
			switch {
			case s.Queue == task.Timers:
				earlier(task.Instant(s.Key))
			case s.Parked(): // until its rate passes it
				earlier(task.At(r.now.Add(time.Second)))
			}
		}
	}
	return next, total, nil
}

// live returns the unsettled tasks, including child tasks.
func (r *run) live(ctx context.Context) (tasks []*task.Task, err error) {
	f := engine.TaskFilter{Limit: r.engine.Config().Limits.PageItems}
	for {
		page, _, err := r.engine.Tasks(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if f.Below = t.ID; !t.State.Settled() {
				tasks = append(tasks, t)
			}
		}
		if len(page) < f.Limit {
			return tasks, nil
		}
	}
}

// waiting names a wait of a task that needs an outside act.
func (r *run) waiting(ctx context.Context, t *task.Task, steps []*task.Step) (string, error) {
	def, err := r.engine.TemplateOf(ctx, t.DefID)
	if err != nil {
		return "", err
	}
	for _, s := range steps {
		if s.State == task.StepWaiting {
			return fmt.Sprintf("step %s waits for somebody, and the script says nothing of it", def.Spec(s).Name), nil
		}
	}
	return fmt.Sprintf("the task is %s, and nothing is due", t.State), nil
}

func (r *run) outcome(ctx context.Context, def *task.Template, start time.Time, stuck string,
) (*operate.Simulation, error) {
	t, steps, err := r.engine.Steps(ctx, r.task)
	if err != nil {
		return nil, err
	}
	records, err := r.engine.Records(ctx, r.task)
	if err != nil {
		return nil, err
	}
	out := &operate.Simulation{Template: def.Name, Version: def.Version, State: tasker.TaskState(t.State), Stuck: stuck,
		TookMS: r.now.Sub(start).Milliseconds()}
	since := func(at task.Instant) *int64 {
		if at == 0 {
			return nil
		}
		ms := at.Time().Sub(start).Round(time.Millisecond).Milliseconds()
		return &ms
	}
	for _, s := range steps {
		spec := def.Spec(s)
		one := operate.SimulatedStep{Name: spec.Name, State: tasker.StepState(s.State), Attempts: s.Attempts,
			BeganMS: since(s.StartedAt), EndedMS: since(s.FinishedAt), Result: s.Result}
		if s.State == task.StepSkipped {
			one.When = spec.When
		}
		for _, a := range records.Attempts {
			if a.StepID == s.ID && a.Failure != nil {
				one.Failure = a.Failure.Message
			}
		}
		out.Steps = append(out.Steps, one)
	}
	return out, nil
}
