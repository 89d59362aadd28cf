package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// StalenessFilter selects live tasks. Zero fields match all.
type StalenessFilter struct {
	Health    task.Health
	Namespace string
	TaskName  string
	Limit     int
}

// Staleness is how near a task is to being stale.
type Staleness struct {
	Task     *task.Task
	Template *task.Template
	InState  time.Duration
	Health   task.Health
	// Limit is the limit behind Health. Its Source is empty without one.
	task.Limit
}

// stateLimit is for a task that does not compensate, given its queued steps. ExpireTasks handles the whole task's
// limit.
func (e *Room) stateLimit(t *task.Task, def *task.Template, steps []*task.Step, now task.Instant) task.Limit {
	l := e.Cfg.StalenessThresholds.Limit(t, def.Lifecycle, steps, e.LongestTurn(), e.HeldBack(), now)
	l.Used -= min(e.Stepped(t.Since(now).Time()), l.Used) // the clock was stepped: this time never passed
	if def.Compensating(steps) {
		return task.Limit{Used: l.Used}
	}
	return l
}

// stateLimits reads steps only where they decide: promises keep a healthy task healthy. With whole it reads them
// wherever a promise may prolong a limit. Steps of the dispatcher count as held: an attempt under way is a promise.
func (e *Room) stateLimits(ctx context.Context, tasks []*task.Task, whole bool,
	now task.Instant,
) ([]task.Limit, []*task.Template, error) {
	limits, defs := make([]task.Limit, len(tasks)), make([]*task.Template, len(tasks))
	var undecided []kernel.Sized
	held := e.HeldBack() != nil
	for i, t := range tasks {
		def, err := e.TemplateOf(ctx, t.DefID)
		if err != nil {
			return nil, nil, err
		}
		defs[i], limits[i] = def, e.stateLimit(t, def, nil, now)
		ofSteps := limits[i].Source == task.LimitOfAll ||
			limits[i].Source == task.LimitOfTemplate && (held || def.Compensated)
		if ofSteps && (whole || limits[i].Health() != task.Healthy) {
			undecided = append(undecided, kernel.Sized{Task: t.ID, Steps: len(def.Steps)})
		}
	}
	if len(undecided) == 0 {
		return limits, defs, nil
	}
	steps, err := e.Store.InQueues(ctx, undecided)
	if err != nil {
		return nil, nil, fmt.Errorf("look at what is promised to steps: %w", err)
	}
	e.Queue.Show(ctx, steps)
	of := make(map[task.ID][]*task.Step, len(undecided))
	for _, s := range steps {
		of[s.TaskID] = append(of[s.TaskID], s)
	}
	for i, t := range tasks {
		if found := of[t.ID]; len(found) > 0 {
			limits[i] = e.stateLimit(t, defs[i], found, now)
		}
	}
	return limits, defs, nil
}

func (e *Room) staleness(ctx context.Context, tasks []*task.Task, whole bool, now task.Instant) ([]Staleness, error) {
	limits, defs, err := e.stateLimits(ctx, tasks, whole, now)
	if err != nil {
		return nil, err
	}
	out := make([]Staleness, len(tasks))
	for i, t := range tasks {
		s := Staleness{Task: t, Template: defs[i], InState: limits[i].Used,
			Limit: limits[i].Nearer(task.DurationLimit(t, defs[i].Lifecycle, now))}
		s.Health = s.Limit.Health()
		out[i] = s
	}
	return out, nil
}

// LimitsOf returns the limits of a live task's state and of the whole task, given all its steps.
func (e *Room) LimitsOf(t *task.Task, def *task.Template, steps []*task.Step) (state, whole task.Limit) {
	now := e.Now()
	return e.stateLimit(t, def, steps, now), task.DurationLimit(t, def.Lifecycle, now)
}
