package kernel

import (
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Level returns the level of a priority's name, in any case, or number. "" is "medium", or the middle of the table.
// It reports false for an unknown name and a number outside of 0 to task.MaxPriority.
func (e *Kernel) Level(priority string) (int, bool) {
	if priority == "" {
		priority = "medium"
		if _, ok := e.Level(priority); !ok {
			return e.Cfg.Priorities[len(e.Cfg.Priorities)/2].Level, true
		}
	}
	for _, p := range e.Cfg.Priorities {
		if strings.EqualFold(p.Name, priority) {
			return p.Level, true
		}
	}
	n, err := strconv.Atoi(priority)
	return n, err == nil && n >= 0 && n <= task.MaxPriority
}

// PriorityName returns the name of a level, or its number when it has none.
func (e *Kernel) PriorityName(level int) string {
	for _, p := range e.Cfg.Priorities {
		if p.Level == level {
			return p.Name
		}
	}
	return strconv.Itoa(level)
}

// PriorityText returns the submitted priority of a task with its original level, else the level's name.
func (e *Kernel) PriorityText(t *task.Task) string {
	if text := t.Meta.Priority; text != "" {
		if level, ok := e.Level(text); ok && level == t.Priority {
			return text
		}
	}
	return e.PriorityName(t.Priority)
}

// LevelAt returns the settings of a level, else of the next named level below, else of the lowest.
func (e *Kernel) LevelAt(n int) settings.PriorityLevel {
	for _, p := range e.Cfg.Priorities {
		if p.Level <= n {
			return p
		}
	}
	return e.Cfg.Priorities[len(e.Cfg.Priorities)-1]
}

// DefaultTimeout returns the timeout of a step without a timeout or a priority.
func (e *Kernel) DefaultTimeout() time.Duration {
	n, _ := e.Level("")
	return e.LevelAt(n).Timeout
}

func (e *Kernel) LevelNames() string {
	names := make([]string, len(e.Cfg.Priorities))
	for i, p := range e.Cfg.Priorities {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
