package task

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/model/limit"
)

// OperatorLimit is an operator's limit of a handler or a route, one per target. An ended one is kept for a while,
// because time limits count from its end.
type OperatorLimit struct {
	PauseTarget

	Permits int
	Rate    limit.Rate

	Actor, Reason      string
	At, ChangedAt      Instant
	EndedAt            Instant
	EndedBy, EndReason string

	Bucket limit.Bucket
}

// LimitNo is negative, which separates its permits from those of gates.
func (t PauseTarget) LimitNo() int64 {
	return -limit.Number(t.Namespace, "operator: "+string(t.Kind)+" "+t.Name, t.Capabilities)
}

// Faults locates problems at the fields of the API's request.
func (l *OperatorLimit) Faults() []Problem {
	problems := l.PauseTarget.Faults()
	if l.Kind != PauseHandler && l.Kind != PauseRoute {
		problems = []Problem{{Location: "/kind", Message: "must be route or handler"}}
	}
	if l.Permits < 0 || l.Permits > limit.MaxPermits {
		problems = append(problems, Problem{Location: "/concurrency",
			Message: fmt.Sprintf("must be 1 to %d, or 0 for no limit", limit.MaxPermits)})
	}
	switch fault := l.Rate.Fault(); {
	case l.Rate == limit.Rate{}:
		if l.Permits == 0 {
			problems = append(problems, Problem{Location: "/concurrency", Message: "is missing, and so is rate: one is needed"})
		}
	case fault != "":
		problems = append(problems, Problem{Location: "/rate", Message: fault})
	}
	return problems
}
