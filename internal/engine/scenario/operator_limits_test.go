package scenario_test

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
)

func (in *interpreter) limit(a *args) ([]string, error) {
	r := engine.LimitRequest{Target: a.target(), Actor: a.text("by"), Reason: a.text("reason")}
	if err := firstError(a.number("permits", &r.Permits), a.number("rate", &r.Rate.Count),
		a.number("burst", &r.Rate.Burst), a.duration("per", &r.Rate.Per)); err != nil {
		return nil, err
	}
	if r.Rate.Burst == 0 {
		r.Rate.Burst = r.Rate.Count
	}
	_, created, err := in.engine.SetLimit(in.ctx, r)
	if err != nil || created {
		return nil, err
	}
	return []string{"was limited before"}, nil
}

func (in *interpreter) unlimit(a *args) ([]string, error) {
	_, err := in.engine.DeleteLimit(in.ctx, a.target(), a.text("by"), a.text("reason"))
	return nil, err
}

func (in *interpreter) showLimits(*args) ([]string, error) {
	list, _, err := in.engine.OperatorLimits(in.ctx, engine.OperatorLimitFilter{Limit: 100})
	var out []string
	for _, l := range list {
		line := fmt.Sprintf("%s by=%s", strings.ReplaceAll(l.PauseTarget.String(), "\"", ""), l.Actor)
		if l.Permits > 0 {
			line += fmt.Sprintf(" held=%d/%d", l.Held, l.Permits)
		}
		if l.Rate != (limit.Rate{}) {
			line += " rate=" + strings.ReplaceAll(l.Rate.String(), " ", "_")
			if l.NextAt != 0 {
				line += " next=" + in.sinceStart(l.NextAt)
			}
		}
		if l.Reason != "" {
			line += fmt.Sprintf(" %q", l.Reason)
		}
		out = append(out, line)
	}
	return out, err
}
