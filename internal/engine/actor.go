package engine

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/task"
)

// System is who acts where no operator does. Nobody else may claim the name.
const System = access.System

// What is stored where a request says nothing: who acts without a name and without
// an API key, and why.
const (
	Anonymous = "anonymous"
	NoReason  = "no reason given"
)

const maxReason = 4096

// keyOf is the name of the API key that a request carries, "" without one.
func keyOf(ctx context.Context) string {
	if p := access.From(ctx); p != nil {
		return p.Name
	}
	return ""
}

// actorOf is who acts where naming him is optional: the one who is claimed, else the
// holder of the request's key, else Anonymous.
func actorOf(ctx context.Context, claimed string) string {
	return cmp.Or(claimed, keyOf(ctx), Anonymous)
}

// checkActor says what is wrong with an actor and a reason. Both may be empty: it is
// the caller's business which of them is required.
func checkActor(actor, reason string) []task.Problem {
	var problems []task.Problem
	if fault := actorFault(actor); fault != "" {
		problems = append(problems, task.Problem{Location: "/actor", Message: fault})
	}
	if fault := reasonFault(reason, maxReason); fault != "" {
		problems = append(problems, task.Problem{Location: "/reason", Message: fault})
	}
	return problems
}

// actorFault says what is wrong with the name of an actor, or "".
func actorFault(actor string) string {
	switch fault := task.TextFault(actor, maxName); {
	case fault != "":
		return fault
	case actor != "" && blank(actor):
		return "is blank: say who does it; the name is kept with the act"
	case strings.EqualFold(strings.Map(visible, actor), System):
		return strconv.Quote(actor) + " is reserved for what Tasker does on its own: say who does it"
	}
	return ""
}

// reasonFault says what is wrong with a reason, or "".
func reasonFault(reason string, limit int) string {
	switch fault := task.TextFault(reason, limit); {
	case fault != "":
		return fault + " (at most " + strconv.Itoa(limit) + " bytes)"
	case reason != "" && blank(reason):
		return "is blank: say why; the reason is kept with the act"
	}
	return ""
}

// blank reports whether nothing of a text can be seen.
func blank(s string) bool { return strings.TrimFunc(s, invisible) == "" }

// visible drops a rune that cannot be seen, for strings.Map.
func visible(r rune) rune {
	if invisible(r) {
		return -1
	}
	return r
}

// invisible reports whether a rune leaves no mark on a page: spaces, control
// characters, and those that only direct their neighbours.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r)
}

// expectFault says what is wrong with an expectation of a thing that has states.
func expectFault[S ~string](x task.Expectation, states []S) []task.Problem {
	if x.State == "" || slices.Contains(states, S(x.State)) {
		return nil
	}
	var known []string
	for _, s := range states {
		known = append(known, string(s))
	}
	return []task.Problem{{Location: "/expected_state", Message: "must be one of " + strings.Join(known, ", ")}}
}
