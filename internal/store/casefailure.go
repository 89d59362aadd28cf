package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// No index contains the step, handler and message of a failure: they are checked in a bounded window of the cases that
// pass the rest of the filter.

// maxFailedSteps bounds the steps of templates for one handler in a filter: each is two arguments, of which PostgreSQL
// takes 65,535.
const maxFailedSteps = 1000

func asksForFailure(f engine.CaseFilter) bool {
	return f.Step != "" || f.Handler != "" || f.Message != ""
}

// failureWindow returns the newest cases that pass the terms, on the alias c, for failureTerms. w must not have the
// conditions on the failure: they apply to the window, whose size bounds the work.
func failureWindow(w *where) string {
	return `(SELECT c.dlq_entry_uuid AS id FROM tasker_tasks_dlq c` + w.text() + ` ORDER BY c.dlq_entry_uuid DESC LIMIT ` +
		w.arg(engine.CaseWindow) +
		`) q JOIN tasker_tasks_dlq c ON c.dlq_entry_uuid = q.id`
}

// failureTerms adds a filter's conditions on the failure, on the alias c; false: nothing can match. A case stores its
// failed step and not the handler, so steps of templates replace a handler.
func (s SQL) failureTerms(ctx context.Context, w *where, f engine.CaseFilter) (bool, error) {
	w.addIf(f.Step != "", "c.failed_step = ?", f.Step)
	// replace works in both databases, without case folding and wildcards
	w.addIf(f.Message != "", "replace(c.error_message, ?, '') <> c.error_message", f.Message)
	if f.Handler == "" {
		return true, nil
	}
	steps, err := s.stepsOfHandler(ctx, f)
	if err != nil || len(steps) == 0 {
		return false, err
	}
	pairs := strings.TrimSuffix(strings.Repeat("(CAST(? AS bigint), CAST(? AS text)), ", len(steps)/2), ", ")
	w.add("(c.def_id, c.failed_step) IN (VALUES "+pairs+")", steps...)
	return true, nil
}

// stepsOfHandler returns the steps of a handler: alternately keys of templates and names of steps. Invalid: more than
// maxFailedSteps; the hint says how to narrow the filter.
func (s SQL) stepsOfHandler(ctx context.Context, f engine.CaseFilter) ([]any, error) {
	w := where{}
	w.addIf(f.Namespace != "", "namespace = ?", f.Namespace)
	w.addIf(f.TaskName != "", "name = ?", f.TaskName)
	// most templates do not contain its name
	name, err := jsonText(f.Handler)
	if err != nil {
		return nil, err
	}
	// The JSON form of the name is sought. Matches are decoded below, so a false one costs only time.
	w.add("replace(CAST(body AS text), ?, '') <> CAST(body AS text)", name)
	templates, err := collect(ctx, s, scanTemplate, `SELECT `+templateColumns+` FROM tasker_templates`+w.text(), w.args...)
	if err != nil {
		return nil, err
	}
	var steps []any
	for _, t := range templates {
		for _, spec := range t.Steps {
			if spec.Handler == f.Handler {
				steps = append(steps, t.DefID, spec.Name)
			}
		}
	}
	if len(steps)/2 > maxFailedSteps {
		e := task.Errorf(task.Invalid, "the handler %q runs %d steps of templates; a filter takes up to %d", f.Handler,
			len(steps)/2, maxFailedSteps)
		e.Hint = "name the namespace or the template (task_name) as well"
		return nil, e
	}
	return steps, nil
}
