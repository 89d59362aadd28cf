package telemetry

import (
	"maps"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Metrics by priority have no name of a task or handler: both together would be too many series.

const (
	priorityKey   = attribute.Key("priority")
	classKey      = attribute.Key("class")
	attemptKey    = attribute.Key("attempt")
	thenKey       = attribute.Key("then")
	fromKey       = attribute.Key("from")
	toKey         = attribute.Key("to")
	whyKey        = attribute.Key("reason")
	percentileKey = attribute.Key("percentile")
)

// levelNumbers are bounded by the domain's levels.
type levelNumbers struct {
	label    attribute.KeyValue
	wait     *histogram
	lifetime map[task.State]*histogram
	failures map[failureKey]int64
}

// then is the consequence for the step: "retried" or "exhausted".
type failureKey struct {
	class   failure.Class
	attempt int
	then    string
}

// maxAttempt is the number from which attempts count together, as "10+".
const maxAttempt = 10

type promotion struct {
	labels []attribute.KeyValue
	n      int64
}

// The caller holds mu. The table of levels is constant in a process.
func (t *tally) level(c *engine.Commit, level int) *levelNumbers {
	n := t.levels[level]
	if n == nil {
		n = &levelNumbers{label: priorityKey.String(c.PriorityName(level)), wait: newHistogram(secondsBounds),
			lifetime: map[task.State]*histogram{}, failures: map[failureKey]int64{}}
		t.levels[level] = n
	}
	return n
}

// The caller holds mu.
func (t *tally) addLevels(c *engine.Commit) {
	level := remember(func(l int64) *levelNumbers { return t.level(c, int(l)) })
	for i := range c.Handed {
		level(int64(c.Handed[i].Priority)).wait.observe(c.At.Sub(c.Handed[i].ReadyAt))
	}
	for _, s := range c.Settled {
		n := level(int64(s.Priority))
		if n.lifetime[s.State] == nil {
			n.lifetime[s.State] = newHistogram(taskBounds)
		}
		n.lifetime[s.State].observe(c.At.Sub(s.CreatedAt))
	}
	for i := range c.Ended {
		e := &c.Ended[i]
		if e.Class == "" {
			continue
		}
		then := "retried"
		if e.After == task.StepErrored {
			then = "exhausted"
		}
		level(int64(e.Priority)).failures[failureKey{e.Class, min(e.Number, maxAttempt), then}]++
	}
	for _, p := range c.Promoted {
		n := t.promoted[p]
		if n == nil {
			n = &promotion{labels: []attribute.KeyValue{fromKey.String(c.PriorityName(p.From)),
				toKey.String(c.PriorityName(p.To))}}
			t.promoted[p] = n
		}
		n.n++
	}
}

// addMoves counts state transitions. Those of claim, start and settle follow from other lists of the commit, which
// keeps the hot path short. The caller holds mu.
func (t *tally) addMoves(c *engine.Commit) {
	for _, m := range c.TaskMoves {
		t.taskMoves[m]++
	}
	for _, m := range c.StepMoves {
		t.stepMoves[m]++
	}
	if n := len(c.Handed); n > 0 {
		t.stepMoves[engine.StepMove{From: task.StepEnqueued, To: task.StepAssigned}] += int64(n)
	}
	if n := len(c.Started); n > 0 {
		t.stepMoves[engine.StepMove{From: task.StepAssigned, To: task.StepInProgress}] += int64(n)
	}
	for i := range c.Ended {
		m := engine.StepMove{From: task.StepAssigned, To: c.Ended[i].After}
		if c.Ended[i].StartedAt != 0 {
			m.From = task.StepInProgress
		}
		t.stepMoves[m]++
	}
}

// WorkerFailed implements engine.Observer. reason is an engine constant, so the label is bounded.
func (t *Telemetry) WorkerFailed(reason string) {
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	t.tally.lost[reason]++
}

// Refused implements engine.Observer.
func (t *Telemetry) Refused(why engine.Refusal, tasks int) {
	t.tally.mu.Lock()
	defer t.tally.mu.Unlock()
	t.tally.turned[why] += int64(tasks)
}

// The caller holds mu.
func (t *tally) produceLevels(p *producer) {
	wait := p.histogram("tasker.queue.wait", "Time from ready to claimed by a worker, by priority.")
	lifetime := p.histogram("tasker.task.lifetime",
		"Time from the submission of a task to its settlement, by priority and final state.")
	failed := p.counter("tasker.attempts.failed", "{attempt}",
		"Failed attempts by priority, class, number of the attempt, and consequence for the step: retried, exhausted.")
	for _, level := range slices.Sorted(maps.Keys(t.levels)) {
		n := t.levels[level]
		labels := []attribute.KeyValue{n.label}
		wait.show(n.wait, labels)
		for _, state := range slices.Sorted(maps.Keys(n.lifetime)) {
			lifetime.show(n.lifetime[state], []attribute.KeyValue{n.label, stateKey.String(string(state))})
		}
		for f, count := range n.failures {
			number := strconv.Itoa(f.attempt)
			if f.attempt == maxAttempt {
				number += "+"
			}
			failed.add(count, labels, classKey.String(string(f.class)), attemptKey.String(number), thenKey.String(f.then))
		}
	}
	promoted := p.counter("tasker.steps.promoted", "{step}",
		"Promotions of ready steps to another level after a long wait.")
	for _, n := range t.promoted {
		promoted.add(n.n, n.labels)
	}
	p.done(wait, lifetime, failed, promoted)
}

// The caller holds mu.
func (t *tally) produceMoves(p *producer) {
	tasks := p.counter("tasker.task.transitions", "{transition}",
		"State transitions of tasks; from none on submission.")
	for m, n := range t.taskMoves {
		tasks.add(n, nil, fromKey.String(orNone(string(m.From))), toKey.String(string(m.To)))
	}
	steps := p.counter("tasker.step.transitions", "{transition}",
		"State transitions of steps; from none on submission of the task.")
	for m, n := range t.stepMoves {
		steps.add(n, nil, fromKey.String(orNone(string(m.From))), toKey.String(string(m.To)))
	}
	known := p.counter("tasker.idempotency.hits", "{task}",
		"Submissions answered with an existing task of the same idempotency key.")
	known.add(t.known, nil)
	unique := p.counter("tasker.unique.matches", "{task}",
		"Submissions whose unique key another task had, by outcome: returned, refused, replaced, superseded.")
	for i, outcome := range engine.UniqueOutcomes {
		unique.add(int64(t.unique[i]), nil, outcomeKey.String(string(outcome)))
	}
	turned := p.counter("tasker.submissions.refused", "{task}", "Tasks that back-pressure refused, by reason.")
	for why, n := range t.turned {
		turned.add(n, nil, whyKey.String(string(why)))
	}
	lost := p.counter("tasker.worker.failures", "{worker}",
		"Workers declared dead after missed heartbeats (heartbeat) or unhealthy after failed probes (health_probe).")
	for reason, n := range t.lost {
		lost.add(n, nil, whyKey.String(reason))
	}
	p.done(tasks, steps, known, unique, turned, lost)
}

func orNone(state string) string {
	if state == "" {
		return "none"
	}
	return state
}
