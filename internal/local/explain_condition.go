package local

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/expr"
	"github.com/taskerhq/tasker/internal/task"
)

// skipped explains a step whose condition did not hold: the condition, and the states of the steps that it mentions.
// The values that it compared are not shown: parts of them may be sensitive.
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
		if len(states) > 0 {
			why += " (" + strings.Join(states, ", ") + ")"
		}
	}
	return why + ".", "Nothing: the steps that depend on it go on."
}
