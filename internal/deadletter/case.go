package deadletter

import (
	"cmp"

	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// PrintOfCase returns the fingerprint of the latest occurrence of a case: that of the failure that blocks its task, or
// of the reason where nothing has failed. handler is that of the step that failed, "" without one; template is the name
// of the task's template; stack is that of the failure, "" where it is not known.
func PrintOfCase(c *task.Case, handler, template, stack string) failure.Print {
	where := cmp.Or(handler, template)
	if c.Fingerprint == "" && c.Message == "" {
		return failure.PrintOf(failure.Report{Type: string(c.Reason)}, "", where)
	}
	return failure.PrintOfKind(c.Fingerprint, c.Message, stack, where)
}

// GroupOfCase returns a new group of a case, in the namespace of its task. It is open; its counts and version
// are 0.
func GroupOfCase(namespace string, c *task.Case, print failure.Print) *Group {
	g := NewGroup(namespace, print, c.OccurredAt)
	g.FirstAt, g.Version = c.OpenedAt, 0
	return g
}
