package local

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/expr"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// skipped explains a step whose condition did not hold: the condition, and the present states and values that it reads.
// Sensitive values are masked for every key: this is text.
func (x *explainer) skipped(s *task.Step) (why, next string) {
	when := x.spec(s).When
	if x.spec(s).OnFailure && when == "" {
		return x.nothingToUndo(s), "Nothing."
	}
	why = fmt.Sprintf("Step %s was skipped at %s: its condition did not hold: %s", x.spec(s).Name, clock(s.FinishedAt),
		strings.Join(strings.Fields(when), " "))
	if p, err := expr.Compile(when); err == nil {
		var states []string
		for _, other := range x.steps {
			for _, name := range p.Steps() {
				if x.spec(other).Name == name {
					states = append(states, name+" is "+string(other.State))
				}
			}
		}
		states = append(states, x.valuesRead(p)...)
		if len(states) > 0 {
			why += " (" + strings.Join(states, ", ") + ")"
		}
	}
	return why + ".", "Nothing: the steps that depend on it go on."
}

const maxShown = 60

// valuesRead shows the values at the paths of an expression. It omits them for a task made from a message, whose source
// may mark further values as sensitive.
func (x *explainer) valuesRead(p *expr.Program) (list []string) {
	if x.task.Meta.Intake != nil {
		return nil
	}
	rule := sensitive.Lenient(ruleOf(x.tpl).Pointers)
	document, _ := rule.Document(x.task.Context)
	context, err := expr.Decode(document)
	if err != nil {
		return nil
	}
	parents := map[string]any{}
	for _, s := range x.steps {
		if task.LargeResultOf(s.ID, s.Result) != nil {
			continue
		}
		document, _ := rule.Anywhere(s.Result)
		if result, err := expr.Decode(document); err == nil && slices.Contains(p.Steps(), x.spec(s).Name) {
			parents[x.spec(s).Name] = expr.Step(string(s.State), result)
		}
	}
	for _, path := range p.Paths() {
		one, err := expr.Compile(path)
		if err != nil || len(one.Steps()) > 0 && !one.ReadsResult(one.Steps()[0]) {
			continue // the state is part of the step's explanation
		}
		v, err := one.Value(expr.Values{expr.Context: context, expr.Parents: parents})
		if err != nil {
			continue
		}
		if text, err := expr.Encode(v, math.MaxInt); err == nil {
			list = append(list, path+" is "+failure.Cut(string(envelope.Shown(text)), maxShown))
		}
	}
	return list
}
