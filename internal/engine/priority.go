package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Level returns the level of a priority given by name, in any case, or number. For "" it
// returns that of "medium", or of the middle of the table when there is no such name. The
// second result is false for an unknown name and for a number outside of 0 to task.MaxPriority.
func (e *Engine) Level(priority string) (int, bool) {
	if priority == "" {
		priority = "medium"
		if _, ok := e.Level(priority); !ok {
			return e.cfg.Priorities[len(e.cfg.Priorities)/2].Level, true
		}
	}
	for _, p := range e.cfg.Priorities {
		if strings.EqualFold(p.Name, priority) {
			return p.Level, true
		}
	}
	n, err := strconv.Atoi(priority)
	return n, err == nil && n >= 0 && n <= task.MaxPriority
}

// PriorityName returns the name of a level, or its number when it has none.
func (e *Engine) PriorityName(level int) string {
	for _, p := range e.cfg.Priorities {
		if p.Level == level {
			return p.Name
		}
	}
	return strconv.Itoa(level)
}

// PriorityText returns the priority of a task as it was submitted, if it still has that level; else the name of its
// level.
func (e *Engine) PriorityText(t *task.Task) string {
	if text := t.Meta.Priority; text != "" {
		if level, ok := e.Level(text); ok && level == t.Priority {
			return text
		}
	}
	return e.PriorityName(t.Priority)
}

// level returns the settings of a level: its own, else those of the nearest
// named level below it, else of the lowest.
func (e *Engine) level(n int) settings.PriorityLevel {
	for _, p := range e.cfg.Priorities { // highest first
		if p.Level <= n {
			return p
		}
	}
	return e.cfg.Priorities[len(e.cfg.Priorities)-1]
}

// DefaultTimeout returns the timeout of a step where neither its template nor its submission names one, nor a priority.
func (e *Engine) DefaultTimeout() time.Duration {
	n, _ := e.Level("")
	return e.level(n).Timeout
}

// levelNames lists the named levels, for messages.
func (e *Engine) levelNames() string {
	names := make([]string, len(e.cfg.Priorities))
	for i, p := range e.cfg.Priorities {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
