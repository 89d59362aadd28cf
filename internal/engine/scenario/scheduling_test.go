package scenario_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) configureScheduling(a *args) error {
	s := &in.config.Scheduling
	if v, ok := a.get("mode"); ok {
		s.Mode = task.SchedulingMode(v)
	}
	for key, d := range map[string]*time.Duration{"max_wait": &s.MaxWait, "low_to_medium": &s.LowToMedium,
		"medium_to_high": &s.MediumToHigh, "weight": &s.AgingWeight} {
		if err := a.duration(key, d); err != nil {
			return err
		}
	}
	if s.MaxWait < 0 {
		s.MaxWait = -1
	}
	if levels, ok := a.get("levels"); ok {
		in.config.Priorities = nil
		for _, word := range strings.Split(levels, ",") {
			name, number, _ := strings.Cut(word, ":")
			level, err := strconv.Atoi(number)
			if err != nil {
				return badScript("a level is NAME:NUMBER, not %q", word)
			}
			in.config.Priorities = append(in.config.Priorities,
				settings.PriorityLevel{Name: name, Level: level, MaxRetries: 3, Timeout: time.Hour, MaxRetryDelay: time.Minute})
		}
	}
	for key, n := range map[string]*int{"promotion_batch": &s.PromotionBatch,
		"high_promotion_batch": &s.HighPromotionBatch, "window": &s.FairnessWindow} {
		if err := a.number(key, n); err != nil {
			return err
		}
	}
	return nil
}

func (in *interpreter) reconfigure(a *args) ([]string, error) {
	if err := in.configure(a); err != nil {
		return nil, err
	}
	in.cfg, in.roll = in.config, in.dice
	return nil, in.restart()
}

func (in *interpreter) rekey(a *args) ([]string, error) {
	n := 1
	if err := a.number("n", &n); err != nil {
		return nil, err
	}
	n, more, err := in.engine.Rekey(in.ctx, n)
	return []string{fmt.Sprintf("%d looked at, more=%v", n, more)}, err
}

func (in *interpreter) showReady(*args) ([]string, error) {
	routes, err := in.world.store.Routes(in.ctx)
	if err != nil {
		return nil, err
	}
	var steps []*task.Step
	for _, r := range routes {
		some, err := in.world.store.QueueStore().ReadyAfter(in.ctx, r.ID, math.MinInt64, task.ID{}, 1000)
		if err != nil {
			return nil, err
		}
		steps = append(steps, some...)
	}
	slices.SortFunc(steps, func(a, b *task.Step) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID.Seq(), b.ID.Seq()))
	})
	var out []string
	for _, s := range steps {
		t, err := in.world.store.FindTask(in.ctx, s.TaskID)
		if err != nil {
			return nil, err
		}
		def, err := in.engine.TemplateOf(in.ctx, t.DefID)
		if err != nil {
			return nil, err
		}
		// with a dispatcher a held step is still ready in the store
		if seen, err := in.step(t.ID, def.Steps[s.Ordinal-1].Name); err != nil || seen.State != task.StepEnqueued {
			if err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, fmt.Sprintf("%s.%s priority=%d effective=%d ready=%s", in.nameOf(t.ID), def.Steps[s.Ordinal-1].Name,
			s.Priority, in.engine.EffectivePriority(s), in.sinceStart(s.ReadyAt)))
	}
	return out, nil
}
