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

// The bounds of rules; those of texts are in bytes.
const (
	MaxRules        = 100
	MaxRuleText     = 2048
	MaxRuleKeys     = 8
	MaxRulePosition = 1_000_000
	maxRuleTitle    = 240
)

// Rule groups failures instead of their fingerprints. In a namespace the first rule whose condition holds decides.
// Each save is a new version, which its groups name.
type Rule struct {
	Namespace string
	Name      string
	Position  int
	When      string
	// Keys are expressions of Facts: failures with equal values share a group. Without keys all do.
	Keys  []string
	Title string
	// Within restricts the rule to failures of that group, which it splits; 0: no restriction.
	Within GroupID

	Version int64
	// Since is the version that introduced the present When, Keys and Within. It is part of the groups' fingerprints:
	// a change starts new counts.
	Since   int64
	SavedAt task.Instant
	Actor   string
	Key     string
	Reason  string
	Removed bool
	// Cost bounds the cost of its regular expressions for a failure; see rule.Program.Cost.
	Cost int
}

// Facts are the inputs of a rule's expressions. Unknown facts are "" or 0.
type Facts struct {
	Kind model.Kind
	// Failure of a case has its code, if any, also as its type.
	Failure failure.Report
	Frame   string
	Handler string
	// Source, Origin and Headers belong to a letter, Template and Step to a case.
	Source   string
	Origin   string
	Headers  []Header
	Template string
	Step     string
	Reason   string
}

// Validate locates problems at JSON pointers, without compiling expressions.
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

// Follow makes r the next version of before, nil for the first.
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

// FactsOfLetter returns the facts of an occurrence. Rules see masks instead of sensitive header values, matched in
// any case, because everybody sees groups and counts.
func FactsOfLetter(l *Letter, of failure.Report, handler, stack string, sensitiveHeaders []string) Facts {
	return Facts{Kind: model.KindLetter, Failure: of, Frame: failure.PrintOf(failure.Report{}, stack, "").Frame,
		Handler: handler, Source: l.Source, Origin: l.Origin, Headers: masked(l.Original.Headers, sensitiveHeaders)}
}

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

// FactsOfCase returns the facts of a case's latest occurrence. Its arguments are as in PrintOfCase.
func FactsOfCase(c *task.Case, handler, template string, print failure.Print) Facts {
	return Facts{Kind: model.KindCase, Failure: failure.Report{Type: c.Fingerprint, Code: c.Fingerprint,
		Message: c.Message,
		Class:   c.Class, Retryable: c.Retryable}, Frame: print.Frame, Handler: handler, Template: template, Step: c.Step,
		Reason: string(c.Reason)}
}
