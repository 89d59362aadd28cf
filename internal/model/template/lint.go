package template

import (
	"errors"
	"slices"
	"strconv"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Warnings returns likely mistakes of a valid document, each at filename:line:column, in order. Of a document that
// Parse refuses it may return a part.
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

type linter struct {
	*problems
	handlers []string
}

// longest bounds the task in seconds; 0 is unbounded.
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

// handler finds names that differ by a slip.
func (l *linter) handler(name *document.Node) {
	const shortest = 5 // below this, one edit changes the meaning too often
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

// retry finds settings without effect.
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

func (l *linter) all() []task.Problem {
	var found *task.Error
	if !errors.As(l.err(), &found) {
		return nil
	}
	return found.Problems
}
