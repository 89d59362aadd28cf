package scenario_test

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) configureOutages(a *args) error {
	c := &in.config.OutageBreaker
	if _, ok := a.get("outage"); ok {
		c.Enabled = settings.On
	}
	return firstError(a.number("outage", &c.Failures), a.duration("within", &c.Within),
		a.duration("probe", &c.ProbeInterval), a.duration("max_probe", &c.MaxProbeInterval))
}

func (in *interpreter) showOutages(*args) ([]string, error) {
	list, _, err := in.engine.Outages(in.ctx, engine.OutageFilter{Limit: 100})
	var out []string
	for _, o := range list {
		r := o.Route()
		line := fmt.Sprintf("%s since=%s opened=%s failures=%d", strings.TrimSuffix(r.Handler+"+"+
			strings.Join(r.Capabilities, "+"), "+"), in.sinceStart(o.Since), in.sinceStart(o.OpenedAt), o.Failures)
		if o.Probes > 0 {
			line += fmt.Sprintf(" probes=%d", o.Probes)
		}
		if o.LastProbe != "" {
			line += " last=" + string(o.LastProbe)
		}
		if o.Spared > 0 {
			line += fmt.Sprintf(" spared=%d", o.Spared)
		}
		switch {
		case !o.Open():
			line += fmt.Sprintf(" closed=%s by=%s %q", in.sinceStart(o.ClosedAt), o.ClosedBy, o.CloseReason)
		case !o.ProbeStep.IsZero():
			line += " probing=" + in.nameOf(o.ProbeTask)
		default:
			line += " next=" + in.sinceStart(o.NextProbeAt)
		}
		out = append(out, line)
	}
	return out, err
}

func (in *interpreter) closeOutage(a *args) ([]string, error) {
	handler, err := a.place(0, "the handler")
	if err != nil {
		return nil, err
	}
	list, _, err := in.engine.Outages(in.ctx, engine.OutageFilter{Limit: 100})
	if err != nil {
		return nil, err
	}
	id := task.ID{}
	for _, o := range list {
		if o.Handler == handler {
			id = o.ID
			break
		}
	}
	_, err = in.engine.CloseOutage(in.ctx, id, a.text("by"), a.text("reason"), 0)
	return nil, err
}
