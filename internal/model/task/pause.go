package task

import (
	"cmp"
	"strconv"
	"strings"
)

// PauseKind is the kind of a pause's target.
type PauseKind string

// The kinds of a pause.
const (
	PauseRoute     PauseKind = "route"
	PauseHandler   PauseKind = "handler"
	PauseTemplate  PauseKind = "template"
	PauseNamespace PauseKind = "namespace"
)

// PauseKinds are all kinds, the narrowest first.
var PauseKinds = []PauseKind{PauseRoute, PauseHandler, PauseTemplate, PauseNamespace}

// PauseTarget identifies what a pause holds back. It is comparable.
type PauseTarget struct {
	Kind      PauseKind
	Namespace string
	Name      string
	// Capabilities is the Route.CapabilityKey of a route, "" for other kinds.
	Capabilities string
}

// TargetOf returns the target of exactly one route.
func TargetOf(r *Route) PauseTarget {
	return PauseTarget{PauseRoute, r.Namespace, r.Handler, r.CapabilityKey()}
}

// Compare orders targets by namespace, then kind and name.
func (t PauseTarget) Compare(o PauseTarget) int {
	return cmp.Or(cmp.Compare(t.Namespace, o.Namespace), cmp.Compare(t.Kind, o.Kind), cmp.Compare(t.Name, o.Name),
		cmp.Compare(t.Capabilities, o.Capabilities))
}

func (t PauseTarget) String() string {
	in := " in namespace " + strconv.Quote(t.Namespace)
	switch t.Kind {
	case PauseNamespace:
		return "namespace " + strconv.Quote(t.Namespace)
	case PauseTemplate:
		return "template " + strconv.Quote(t.Name) + in
	case PauseRoute:
		if caps := SplitCapabilities(t.Capabilities); len(caps) > 0 {
			return "handler " + strconv.Quote(t.Name) + in + " with " + strings.Join(caps, ", ")
		}
		return "handler " + strconv.Quote(t.Name) + in + " without capabilities"
	default:
		return "handler " + strconv.Quote(t.Name) + in
	}
}

// Faults locates problems at the fields of the API's request.
func (t PauseTarget) Faults() []Problem {
	var problems []Problem
	name := func(at, text string) {
		fault := TextFault(text, MaxName)
		if fault == "" && text == "" {
			fault = "is missing"
		}
		if fault != "" {
			problems = append(problems, Problem{Location: at, Message: fault})
		}
	}
	name("/namespace", t.Namespace)
	switch t.Kind {
	case PauseRoute, PauseHandler:
		name("/handler", t.Name)
	case PauseTemplate:
		name("/template", t.Name)
	case PauseNamespace:
		if t.Name != "" {
			problems = append(problems, Problem{Location: "/kind", Message: "a namespace has no further name"})
		}
	default:
		problems = append(problems, Problem{Location: "/kind", Message: "must be route, handler, template or namespace"})
	}
	if len(t.Capabilities) > maxTargetCapabilities {
		problems = append(problems, Problem{Location: "/capabilities",
			Message: "have " + strconv.Itoa(len(t.Capabilities)) + " bytes together; the limit is " +
				strconv.Itoa(maxTargetCapabilities)})
	}
	for _, c := range SplitCapabilities(t.Capabilities) {
		switch fault := TextFault(c, MaxName); {
		case t.Kind != PauseRoute:
			return append(problems, Problem{Location: "/capabilities", Message: "only a route has capabilities"})
		case fault != "" || c == "":
			return append(problems, Problem{Location: "/capabilities", Message: "an entry " + cmp.Or(fault, "is empty")})
		}
	}
	return problems
}

// maxTargetCapabilities is in bytes, for a database index.
const maxTargetCapabilities = 1500

// Pause is an operator's act that holds steps back, one per target. An ended one is kept for a while, because time
// limits count from its end.
type Pause struct {
	PauseTarget

	Actor, Reason      string
	At                 Instant
	Until              Instant
	EndedAt            Instant
	EndedBy, EndReason string
}

// End returns the end of the pause up to now; 0 while it applies.
func (p *Pause) End(now Instant) Instant {
	switch {
	case p.EndedAt != 0:
		return p.EndedAt
	case p.Until != 0 && p.Until <= now:
		return p.Until
	}
	return 0
}
