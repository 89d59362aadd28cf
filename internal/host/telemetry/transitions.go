package telemetry

import (
	"log/slog"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// logTransitions logs one line per transition in the task's trace. The list is empty unless the engine records it.
func (t *Telemetry) logTransitions(c *engine.Commit) {
	for i := range c.Transitions {
		m := &c.Transitions[i]
		message := "task transition"
		if m.Step != (task.ID{}) {
			message = "step transition"
		}
		ctx, _, _ := parent(m.Parent)
		t.log.LogAttrs(ctx, slog.LevelInfo, message, transitionAttrs(c, m)...)
	}
}

func transitionAttrs(c *engine.Commit, m *engine.Transition) []slog.Attr {
	attrs := make([]slog.Attr, 0, 13)
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	if m.Task != (task.ID{}) {
		add("task", m.Task.String())
	}
	if m.Step != (task.ID{}) {
		add("step", m.Step.String())
	}
	if m.DefID != 0 {
		if def := c.Names.NamesOfTemplate(m.DefID); def != nil {
			add("namespace", def.Namespace)
			add("name", def.Name)
			if m.Ordinal > 0 && m.Ordinal <= len(def.Steps) {
				add("step_name", def.Steps[m.Ordinal-1].Name)
			}
		}
	}
	add("from", m.From)
	add("to", m.To)
	add("verb", c.Verb)
	add("worker", m.Worker)
	add("priority", c.PriorityName(m.Priority))
	if m.CreatedAt != 0 {
		attrs = append(attrs, slog.Float64("age_seconds", max(c.At.Sub(m.CreatedAt), 0).Seconds()))
	}
	if m.Step != (task.ID{}) {
		attrs = append(attrs, slog.Int("retry_count", max(m.Attempts-1, 0)))
	}
	add("user", m.Initiator)
	return attrs
}
