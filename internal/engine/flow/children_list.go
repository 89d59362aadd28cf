package flow

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/task"
)

type childList struct {
	windows [][]byte
	total   int
	version string
	fault   *task.Failure
}

func (e *Room) listChildren(ctx context.Context, p *childPlan) (*childList, error) {
	if depthOf(p.parent) >= task.MaxChildDepth {
		return &childList{fault: childFault(CodeChildrenDeep,
			"the task is a child of a child, %d deep; children of it are not allowed", task.MaxChildDepth)}, nil
	}
	version := p.spec.Version
	if p.spec.Template != "" {
		in := &submit.Submission{Name: p.spec.Template, Version: p.spec.Version, Namespace: p.tpl.Namespace}
		t, problem, err := submit.Of(e.Kernel).FindTemplate(ctx, in, "")
		if err != nil {
			return nil, err
		}
		if problem != nil {
			return &childList{fault: childFault(CodeChildrenRefused, "%s", problem.Message)}, nil
		}
		version = t.Version
	}
	return e.listOf(ctx, p, version)
}

// listAgain lists the items after an edit of the context. submitted children keep their index, so the list must not
// become shorter than their number.
func (e *Room) listAgain(ctx context.Context, p *childPlan) (*childList, error) {
	list, err := e.listOf(ctx, p, p.fan.Version)
	if err == nil && list.fault == nil && list.total < p.fan.Submitted {
		list.fault = childFault(CodeChildrenRefused, "since the context was edited, the list has %d items; %d children were "+
			"submitted before", list.total, p.fan.Submitted)
	}
	return list, err
}

func (e *Room) listOf(ctx context.Context, p *childPlan, version string) (*childList, error) {
	list := &childList{version: version}
	items, fault, err := e.itemsOf(ctx, p)
	if err != nil || fault != nil {
		list.fault = fault
		return list, err
	}
	for at := 0; at < len(items); at += kernel.ItemWindow {
		list.windows = append(list.windows, listOf(items[at:min(at+kernel.ItemWindow, len(items))]))
	}
	list.total = len(items)
	return list, nil
}

func (e *Room) itemsOf(ctx context.Context, p *childPlan) ([]json.RawMessage, *task.Failure, error) {
	if !p.spec.Each() && p.spec.Context == "" {
		whole := json.RawMessage(p.parent.Context)
		if err := openedOf(theContext, whole); err != nil {
			return nil, nil, err
		}
		if whole == nil {
			whole = json.RawMessage("null")
		}
		return []json.RawMessage{whole}, nil, nil
	}
	text := p.spec.Items
	if !p.spec.Each() {
		text = p.spec.Context
	}
	program, values, fault, err := e.valuesOf(ctx, p, text)
	if err != nil || fault != nil {
		return nil, fault, err
	}
	if !p.spec.Each() {
		v, err := program.Value(values)
		if err != nil {
			return nil, childFault(CodeChildrenRefused, "the context of the child: %v", err), nil
		}
		item, err := expr.Encode(v, e.Cfg.Limits.PayloadBytes)
		if err != nil {
			return nil, childFault(CodeChildrenLarge, "the context of the child: %v", err), nil
		}
		return []json.RawMessage{item}, nil, nil
	}
	list, err := program.List(values)
	if err != nil {
		return nil, childFault(CodeChildrenRefused, "the list of items: %v", err), nil
	}
	if most := e.Cfg.Limits.Children; len(list) > most {
		return nil, childFault(CodeChildrenLarge, "the list has %d items; limits.children allows %d", len(list), most), nil
	}
	items := make([]json.RawMessage, len(list))
	for i, v := range list {
		if items[i], err = expr.Encode(v, e.Cfg.Limits.PayloadBytes); err != nil {
			return nil, childFault(CodeChildrenLarge, "item %d: %v", i, err), nil
		}
	}
	return items, nil, nil
}

// listOf keeps values byte for byte; encoding/json would rewrite them.
func listOf(values []json.RawMessage) []byte {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		if v == nil {
			v = json.RawMessage("null")
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// objectOf keeps the values byte for byte.
func objectOf(values map[string]json.RawMessage) []byte {
	out := []byte{'{'}
	for i, name := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			out = append(out, ',')
		}
		quoted, _ := json.Marshal(name) // a string always encodes
		out = append(append(append(out, quoted...), ':'), values[name]...)
	}
	return append(out, '}')
}
