package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/task"
)

type childContexts struct {
	program *expr.Program
	values  expr.Values
}

// contextOf passes an item on byte for byte. A fault concerns this child only.
func (e *Room) contextOf(ctx context.Context, p *childPlan, index int, item json.RawMessage) ([]byte, *task.Failure,
	error,
) {
	switch {
	case p.spec.Each() && p.spec.Context != "":
		return e.eachContext(ctx, p, index, item)
	case p.spec.Each():
		return fmt.Appendf(nil, `{"%s":%s,"%s":%d}`, task.EachItem, item, task.EachIndex, index), nil, nil
	case string(item) == "null":
		return nil, nil, nil
	}
	return item, nil, nil
}

func (e *Room) eachContext(ctx context.Context, p *childPlan, index int, item json.RawMessage) ([]byte, *task.Failure,
	error,
) {
	if p.contexts == nil {
		program, values, fault, err := e.valuesOf(ctx, p, p.spec.Context, p.spec.Names()...)
		if err != nil || fault != nil {
			return nil, fault, err
		}
		p.contexts = &childContexts{program, values}
	}
	of, err := expr.Decode(item)
	if err != nil {
		return nil, nil, fmt.Errorf("item %d of step %s: %w", index, p.fan.Step, err)
	}
	values := p.contexts.values
	values[task.EachItem], values[task.EachIndex] = of, json.Number(strconv.Itoa(index))
	v, err := p.contexts.program.Value(values)
	if err != nil {
		return nil, childFault(CodeChildrenRefused, "the context of the child: %v", err), nil
	}
	encoded, err := expr.Encode(v, e.Cfg.Limits.PayloadBytes)
	if err != nil {
		return nil, childFault(CodeChildrenLarge, "the context of the child: %v", err), nil
	}
	return encoded, nil, nil
}

func (e *Room) valuesOf(ctx context.Context, p *childPlan, text string, names ...string) (*expr.Program, expr.Values,
	*task.Failure, error,
) {
	program, err := e.programOf(text, names...)
	if err != nil {
		return nil, nil, nil, err
	}
	steps, err := e.Store.FindSteps(ctx, p.parent.ID)
	if err != nil {
		return nil, nil, nil, err
	}
	values, err := new(evaluation).values(program, p.tpl, p.parent, steps)
	var large *kernel.LargeError
	switch {
	case undecided(err):
		return nil, nil, nil, err
	case errors.As(err, &large):
		return nil, nil, childFault(CodeChildrenLarge, "%v", large), nil
	case err != nil:
		return nil, nil, childFault(CodeChildrenRefused, "%v", err), nil
	}
	return program, values, nil, nil
}
