package deadletter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The bounds of rules.
const (
	// MaxRules bounds the rules of a namespace, splits of groups included.
	MaxRules = 100
	// MaxRuleText bounds an expression of a rule, in bytes.
	MaxRuleText = 2048
	// MaxRuleKeys bounds the keys of a rule.
	MaxRuleKeys = 8
	// MaxRulePosition bounds a position, in either direction.
	MaxRulePosition = 1_000_000
	// maxRuleTitle bounds a title, in bytes.
	maxRuleTitle = 240
)

// Rule puts failures into groups in place of their fingerprints. The rules of a namespace are tried in their order, and
// the first whose condition holds decides. Each save is a new version; a group names the version that it is made by.
type Rule struct {
	Namespace string
	Name      string
	// Position orders the rules of a namespace, the lowest first; rules of one position are in the order of their names.
	Position int
	// When is the condition: an expression of Facts that is true or false.
	When string
	// Keys are expressions of Facts: failures with the same values are in one group. None puts all into one.
	Keys []string
	// Title is the title of the groups; "" makes one of the name and the values of the keys.
	Title string
	// Within restricts the rule to failures of that group, which it splits; 0 does not.
	Within GroupID

	Version int64
	// Since is the version that has decided by the present When, Keys and Within first. It is part of the groups'
	// fingerprints: failures from before a change are not counted with those from after.
	Since   int64
	SavedAt task.Instant
	Actor   string
	Key     string // name of the API key
	Reason  string
	Removed bool // by this version
	// Cost is what its regular expressions can cost for a failure; see rule.Program.Cost.
	Cost int
}

// Facts are what the expressions of a rule can look at. A fact that is not known is "" or 0.
type Facts struct {
	Kind model.Kind
	// Failure is the failure. The failure of a case has its code, if there is one, as its type as well.
	Failure failure.Report
	Frame   string // of its stack, as in failure.Print
	Handler string
	// Source, Origin and Headers are those of a letter, Template and Step those of a case.
	Source   string
	Origin   string
	Headers  []Header
	Template string
	Step     string
	// Reason is why a task is stuck, of a case.
	Reason string
}

// Validate returns the problems of a rule, each at a JSON pointer, except those of its expressions' language.
func (r *Rule) Validate() []task.Problem {
	var p problems
	p.name("/namespace", r.Namespace)
	p.name("/name", r.Name)
	p.between("/position", float64(r.Position), -MaxRulePosition, MaxRulePosition)
	p.when(strings.TrimSpace(r.When) == "", "/when", "must not be empty: true selects every failure")
	p.text("/when", r.When, MaxRuleText)
	p.entries("/group_by", len(r.Keys), MaxRuleKeys)
	for i, key := range r.Keys {
		at := fmt.Sprintf("/group_by/%d", i)
		p.when(strings.TrimSpace(key) == "", at, "must not be empty")
		p.text(at, key, MaxRuleText)
	}
	p.text("/title", r.Title, maxRuleTitle)
	return p
}

// Follow makes r the version after another one of its name; nil for the first.
func (r *Rule) Follow(before *Rule) {
	r.Version, r.Since, r.Removed = 1, 1, false
	if before == nil {
		return
	}
	r.Version, r.Since = before.Version+1, before.Version+1
	if !before.Removed && r.When == before.When && slices.Equal(r.Keys, before.Keys) && r.Within == before.Within {
		r.Since = before.Since
	}
}

// FactsOfLetter returns the facts of an occurrence of a letter. The names of sensitive headers are in any case: rules
// see the mask in place of their values, whoever saved them, because groups and counts are shown to everybody.
func FactsOfLetter(l *Letter, of failure.Report, handler, stack string, sensitiveHeaders []string) Facts {
	return Facts{Kind: model.KindLetter, Failure: of, Frame: failure.PrintOf(failure.Report{}, stack, "").Frame,
		Handler: handler, Source: l.Source, Origin: l.Origin, Headers: masked(l.Original.Headers, sensitiveHeaders)}
}

// masked returns headers with the mask in place of the values of those that are named.
func masked(headers []Header, names []string) []Header {
	if len(names) == 0 {
		return headers
	}
	out := slices.Clone(headers)
	for i := range out {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, out[i].Name) }) {
			out[i].Value = []byte(sensitive.Mask)
		}
	}
	return out
}

// FactsOfCase returns the facts of the latest occurrence of a case. The arguments are those of PrintOfCase.
func FactsOfCase(c *task.Case, handler, template string, print failure.Print) Facts {
	return Facts{Kind: model.KindCase, Failure: failure.Report{Type: c.Fingerprint, Code: c.Fingerprint,
		Message: c.Message,
		Class:   c.Class, Retryable: c.Retryable}, Frame: print.Frame, Handler: handler, Template: template, Step: c.Step,
		Reason: string(c.Reason)}
}
