package task

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unique is a rule: among the tasks of a namespace and a template or task type with equal chosen fields, one guards
// their key, and no other is stored meanwhile.
type Unique struct {
	// By are JSON pointers into the context, or one of ByAll (the default), ByTemplate and ByNothing.
	By     []string      `json:"by,omitempty"`
	Period time.Duration `json:"period,omitempty"`
	// While are the phases in which a task guards its key. For the default see Resolved.
	While      []string   `json:"while,omitempty"`
	OnConflict OnConflict `json:"on_conflict,omitempty"`
}

// The words for Unique.By instead of pointers.
const (
	ByAll      = "all"
	ByTemplate = "template" // nothing of the context: one task per template
	ByNothing  = "none"     // no key, despite the template's rule
)

// OnConflict decides about a submission whose unique key another task guards.
type OnConflict string

// Replace cancels a task that has not begun, and returns one that has.
const (
	ReturnExisting  OnConflict = "return"
	RefuseDuplicate OnConflict = "refuse"
	ReplaceExisting OnConflict = "replace"
)

// The phases in which a task may guard its key. A cancelled task never does: its work was not done.
const (
	PhaseUnsettled = "unsettled" // neither over nor in error
	PhaseError     = string(Errored)
	PhaseComplete  = string(Complete)
	PhaseResolved  = string(ResolvedManually)
)

// UniquePhases lists them in the order of a task's life.
var UniquePhases = []string{PhaseUnsettled, PhaseError, PhaseComplete, PhaseResolved}

// UniqueConflicts lists the values of OnConflict.
var UniqueConflicts = []OnConflict{ReturnExisting, RefuseDuplicate, ReplaceExisting}

// The limits of a rule.
const (
	MaxUniqueFields = 16
	MinUniquePeriod = time.Second
	MaxUniquePeriod = 30 * 24 * time.Hour
)

// Off reports whether there is no rule; a submission can switch off its template's.
func (q *Unique) Off() bool { return q == nil || len(q.By) == 1 && q.By[0] == ByNothing }

// Resolved returns the rule with its defaults: the whole context, a conflict returns the existing task, and a task
// guards its key until it is over or, with a period, for all of it.
func (q *Unique) Resolved() Unique {
	out := Unique{By: slices.Sorted(slices.Values(q.By)), Period: q.Period, OnConflict: q.OnConflict}
	if len(out.By) == 0 {
		out.By = []string{ByAll}
	}
	out.OnConflict = cmp.Or(out.OnConflict, ReturnExisting)
	for _, phase := range UniquePhases {
		byDefault := len(q.While) == 0 && (q.Period > 0 || phase == PhaseUnsettled || phase == PhaseError)
		if byDefault || slices.Contains(q.While, phase) {
			out.While = append(out.While, phase)
		}
	}
	return out
}

// Guards reports whether a task in a state guards its key in the given phases.
func Guards(while []string, s State) bool {
	phase := string(s)
	if !s.Settled() {
		phase = PhaseUnsettled
	}
	return slices.Contains(while, phase)
}

// Faults locates every fault of a rule at pointers below at.
func (q *Unique) Faults(at string) []Problem {
	faults := byFaults(at+"/by", q.By)
	bad := func(where, format string, args ...any) {
		faults = append(faults, Problem{Location: at + where, Message: fmt.Sprintf(format, args...)})
	}
	if q.Period != 0 && (q.Period < MinUniquePeriod || q.Period > MaxUniquePeriod) {
		bad("/period", "must be a duration from 1s to 720h, such as 90s or 24h")
	}
	if q.OnConflict != "" && !slices.Contains(UniqueConflicts, q.OnConflict) {
		bad("/on_conflict", "must be return, refuse or replace")
	}
	if len(q.While) == 0 {
		return faults
	}
	if len(q.While) > len(UniquePhases) {
		bad("/while", "has %d entries; the limit is %d", len(q.While), len(UniquePhases))
		return faults
	}
	for i, phase := range q.While {
		switch {
		case !slices.Contains(UniquePhases, phase):
			bad("/while/"+strconv.Itoa(i), "must be one of %s", strings.Join(UniquePhases, ", "))
		case slices.Contains(q.While[:i], phase):
			bad("/while/"+strconv.Itoa(i), "is there twice")
		}
	}
	if !slices.Contains(q.While, PhaseUnsettled) {
		bad("/while", "must contain %s: a task guards its key from its submission on", PhaseUnsettled)
	}
	over := func(phase string) bool { return phase == PhaseComplete || phase == PhaseResolved }
	if q.Period == 0 && slices.ContainsFunc(q.While, over) {
		bad("/while", "may contain %s and %s only with a period", PhaseComplete, PhaseResolved)
	}
	return faults
}

func byFaults(at string, by []string) []Problem {
	if len(by) > MaxUniqueFields {
		return []Problem{{Location: at, Message: fmt.Sprintf("has %d fields; the limit is %d", len(by), MaxUniqueFields)}}
	}
	var faults []Problem
	for i, p := range by {
		fault := ""
		switch {
		case len(by) == 1 && (p == ByAll || p == ByTemplate || p == ByNothing):
		case !strings.HasPrefix(p, "/"):
			fault = "must be a JSON pointer such as /customer/id, or all, template or none alone"
		case badEscape(p):
			fault = "has a ~ that is followed by neither 0 nor 1"
		case slices.Contains(by[:i], p):
			fault = "is there twice"
		default:
			fault = TextFault(p, MaxName)
		}
		if fault != "" {
			faults = append(faults, Problem{Location: at + "/" + strconv.Itoa(i), Message: fault})
		}
	}
	return faults
}

func badEscape(p string) bool {
	for i := range len(p) {
		if p[i] == '~' && (i+1 == len(p) || p[i+1] != '0' && p[i+1] != '1') {
			return true
		}
	}
	return false
}

// UniqueMark is a stored task's part of its rule.
type UniqueMark struct {
	Key   string   `json:"key"`
	By    []string `json:"by"`
	While []string `json:"while"`
	Until Instant  `json:"until,omitempty"`
}

// Guards reports whether a task in a state would guard its key, unless another task took it.
func (m *UniqueMark) Guards(s State, now Instant) bool {
	return Guards(m.While, s) && (m.Until == 0 || now < m.Until)
}
