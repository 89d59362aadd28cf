package scenario_test

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (a *args) target() task.PauseTarget {
	t := task.PauseTarget{Kind: task.PauseNamespace, Namespace: cmp.Or(a.text("ns"), engine.DefaultNamespace),
		Capabilities: task.Route{Capabilities: task.Capabilities(a.list("caps"))}.CapabilityKey()}
	for key, kind := range map[string]task.PauseKind{"route": task.PauseRoute, "handler": task.PauseHandler,
		"task": task.PauseTemplate} {
		if name, ok := a.get(key); ok {
			t.Kind, t.Name = kind, name
		}
	}
	return t
}

func (in *interpreter) pause(a *args) ([]string, error) {
	r := engine.PauseRequest{Target: a.target(), Actor: a.text("by"), Reason: a.text("reason")}
	var until time.Duration
	if err := a.duration("until", &until); err != nil {
		return nil, err
	}
	if until != 0 {
		r.Until = task.At(start.Add(until))
	}
	_, created, err := in.engine.Pause(in.ctx, r)
	if err != nil || created {
		return nil, err
	}
	return []string{"was paused before"}, nil
}

func (in *interpreter) unpause(a *args) ([]string, error) {
	_, err := in.engine.ResumePaused(in.ctx, a.target(), a.text("by"), a.text("reason"))
	return nil, err
}

func (in *interpreter) showPauses(*args) ([]string, error) {
	list, _, err := in.engine.Pauses(in.ctx, engine.PauseFilter{Limit: 100})
	var out []string
	for _, p := range list {
		line := fmt.Sprintf("%s since=%s by=%s", strings.ReplaceAll(p.PauseTarget.String(), "\"", ""), in.sinceStart(p.At),
			p.Actor)
		if p.Until != 0 {
			line += " until=" + in.sinceStart(p.Until)
		}
		if p.Reason != "" {
			line += fmt.Sprintf(" %q", p.Reason)
		}
		out = append(out, line)
	}
	return out, err
}
