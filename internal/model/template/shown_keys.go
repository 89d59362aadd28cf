package template

import (
	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// keysAreShown reports limit keys with sensitive values, because they are stored and shown as they are.
func (r *reader) keysAreShown(t *task.Template, at *document.Node) {
	set := sensitive.Lenient(t.Sensitive)
	if set.Empty() {
		return
	}
	check := func(what, text string) {
		key, err := limit.ParseKey(text)
		if err != nil {
			return // reported already
		}
		for _, path := range key.Paths {
			if set.TouchesPath(path) {
				r.report(at.At, "%s %s has a sensitive value, and is shown in clear text: use another value", what,
					wording.Quoted(text))
				return
			}
		}
	}
	specs := []*limit.Spec{t.Concurrency, t.RateLimit}
	for i := range t.Steps {
		specs = append(specs, t.Steps[i].Concurrency, t.Steps[i].RateLimit)
		if wait := t.Steps[i].Wait; wait != nil {
			check("the time", wait.Until)
			check("the key of a signal", wait.Key)
		}
	}
	for _, s := range specs {
		if s != nil {
			check("the key of a limit", s.Key)
		}
	}
}
