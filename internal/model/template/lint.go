package template

import (
	"errors"
	"slices"
	"strconv"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Warnings returns what of a valid document is allowed but probably not meant, each at filename:line:column, in the
// order of the source. Of a document that Parse refuses it returns some of it, or nothing.
func Warnings(filename string, src []byte) []task.Problem {
	r := reader{problems: newProblems(filename)}
	root := r.tree(src)
	if root == nil {
		return nil
	}
	l := linter{problems: newProblems(filename)}
	if root.Get("input_schema") == nil {
		l.report(root.At, "there is no input_schema: tasks with any context are accepted, and a wrong one fails in a worker")
	}
	longest := number(root.Get("lifecycle"), "max_duration_minutes")
	for _, list := range []string{"steps", "on_failure"} {
		if steps := root.Get(list); steps != nil {
			for _, step := range steps.Items {
				l.step(step, longest*60)
			}
		}
	}
	return l.all()
}

// linter collects warnings of one document.
type linter struct {
	*problems
	handlers []string
}

// step looks at one step. The task may take longest seconds; 0 means any time.
func (l *linter) step(step *document.Node, longest int) {
	l.handler(step.Get("handler"))
	l.retry(step.Get("retry"))
	if wait := step.Get("wait"); wait != nil && wait.Get("timeout") == nil &&
		(wait.Get("approval") != nil || wait.Get("signal") != nil) {
		l.report(wait.At, "the step waits for ever if nobody answers: give it a timeout")
	}
	if seconds := number(step, "timeout_seconds"); longest > 0 && seconds > longest {
		l.report(step.Get("timeout_seconds").At, "the timeout is longer than the whole task may take (max_duration_minutes)")
	}
}

// handler finds names that are probably the same, but for a slip.
func (l *linter) handler(name *document.Node) {
	const shortest = 5 // of shorter names, one edit leads to many others
	if name != nil && name.Kind == document.Mapping {
		name = name.Get("callable")
	}
	if name == nil || slices.Contains(l.handlers, name.Text) {
		return
	}
	if near := wording.Nearest(name.Text, l.handlers, 1); near != "" && len(name.Text) >= shortest {
		l.report(name.At, "the handler %s differs by a character from %s above: is it another one?",
			wording.Quoted(name.Text), wording.Quoted(near))
	}
	l.handlers = append(l.handlers, name.Text)
}

// retry finds settings of retries that cannot come.
func (l *linter) retry(retry *document.Node) {
	if retry == nil {
		return
	}
	var why string
	switch {
	case number(retry, "max_attempts") == 1:
		why = "max_attempts is 1"
	case retry.Get("retryable") != nil && retry.Get("retryable").Text == "false":
		why = "retryable is false"
	default:
		return
	}
	for _, p := range retry.Pairs {
		if p.Key != "max_attempts" && p.Key != "retryable" || p.Key == "max_attempts" && number(retry, p.Key) > 1 {
			l.report(p.At, "%s has no effect: %s, so there is no second attempt", p.Key, why)
		}
	}
}

// number returns the whole number of a key of a mapping, 0 without one.
func number(in *document.Node, key string) int {
	if in == nil || in.Get(key) == nil {
		return 0
	}
	n, err := strconv.Atoi(in.Get(key).Text)
	if err != nil {
		return 0
	}
	return n
}

// all returns the warnings in the order of the source.
func (l *linter) all() []task.Problem {
	var found *task.Error
	if !errors.As(l.err(), &found) {
		return nil
	}
	return found.Problems
}
