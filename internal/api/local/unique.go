package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// toUnique converts an invalid period to one that the engine refuses.
func toUnique(q *tasker.Unique) *task.Unique {
	out := &task.Unique{By: q.By, While: q.While, OnConflict: task.OnConflict(q.OnConflict)}
	if q.Period != "" {
		d, err := time.ParseDuration(q.Period)
		if err != nil || d == 0 {
			d = -1
		}
		out.Period = d
	}
	return out
}

func fromUnique(q *task.Unique) *tasker.Unique {
	if q == nil {
		return nil
	}
	out := &tasker.Unique{By: q.By, While: q.While, OnConflict: string(q.OnConflict)}
	if q.Period > 0 {
		out.Period = q.Period.String()
	}
	return out
}

func fromUniqueMark(m *task.UniqueMark) *tasker.TaskUnique {
	if m == nil {
		return nil
	}
	return &tasker.TaskUnique{By: m.By, While: m.While, Until: m.Until.Ptr()}
}

func fromUniqueMatch(m *engine.UniqueMatch) *tasker.UniqueMatch {
	if m == nil {
		return nil
	}
	out := &tasker.UniqueMatch{Outcome: string(m.Outcome)}
	if m.Outcome == engine.UniqueReplaced {
		id := toUUID(m.Holder.Task)
		out.ReplacedTaskUUID = &id
		out.Rule = fmt.Sprintf("The task %s had not begun and was cancelled: it guarded the unique key of %s.", id,
			chosen(m.By))
		return out
	}
	out.Until = m.Holder.Until.Ptr()
	out.Rule = fmt.Sprintf("The task %s guards the unique key of %s %s.", toUUID(m.Holder.Task), chosen(m.By),
		guardEnd(m.Holder.While, m.Holder.Until))
	if m.Begun {
		out.Rule += " It has begun, so it was not replaced."
	}
	return out
}

func chosen(by []string) string {
	switch {
	case len(by) == 1 && by[0] == task.ByAll:
		return "its whole context"
	case len(by) == 1 && by[0] == task.ByTemplate:
		return "its template"
	}
	return strings.Join(by, ", ")
}

func guardEnd(while []string, until task.Instant) string {
	names := map[string]string{task.PhaseUnsettled: "unsettled", task.PhaseError: "in error",
		task.PhaseComplete: "complete", task.PhaseResolved: "resolved manually"}
	end := "while it is "
	switch has := func(phase string) bool { return slices.Contains(while, phase) }; {
	case len(while) == len(task.UniquePhases):
		end = "unless it is cancelled"
	case len(while) == 1:
		end = "until it is over or in error"
	case len(while) == 2 && has(task.PhaseError):
		end = "until it is over"
	default:
		var words []string
		for _, phase := range task.UniquePhases {
			if has(phase) {
				words = append(words, names[phase])
			}
		}
		end += strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	}
	switch {
	case until == 0:
		return end
	case len(while) == len(task.UniquePhases):
		return fmt.Sprintf("until %s, %s", clock(until), end)
	}
	return fmt.Sprintf("%s, at most until %s", end, clock(until))
}

// unique is a sentence on the unique key of a task, "" without one.
func (x *explainer) unique(ctx context.Context) (string, error) {
	m := x.task.Meta.Unique
	if m == nil {
		return "", nil
	}
	guards, err := x.b.engine.GuardsUnique(ctx, x.task)
	switch {
	case err != nil:
		return "", ToError(err)
	case guards:
		return fmt.Sprintf("It guards the unique key of %s %s: no other task of %s with the same key is stored meanwhile.",
			chosen(m.By), guardEnd(m.While, m.Until), x.tpl.Name), nil
	}
	return fmt.Sprintf("It no longer guards the unique key of %s: another task may have it.", chosen(m.By)), nil
}
