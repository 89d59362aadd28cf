package engine

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// System is the actor where no operator acts. No other actor may use the name.
const System = access.System

// Stored where a request is silent: the actor without a name and without an API key, and the reason.
const (
	Anonymous = "anonymous"
	NoReason  = "no reason given"
)

// maxReason bounds a reason, in bytes.
const maxReason = 4096

// KeyOf is the name of the API key that a request carries, "" without one.
func KeyOf(ctx context.Context) string {
	if p := access.From(ctx); p != nil {
		return p.Name
	}
	return ""
}

// ActorOf is the actor where naming one is optional: the claimed one, else the holder of the
// request's key, else Anonymous. The claimed name is not authenticated; the audit trail
// therefore stores the key's name beside it.
func ActorOf(ctx context.Context, claimed string) string {
	return cmp.Or(claimed, KeyOf(ctx), Anonymous)
}

// CheckActor returns the problems of an actor and a reason. Both may be empty: the caller
// decides which of them is required. It checks the length, control characters, blank texts, and
// the reserved name System. The locations are "/actor" and "/reason"; a verb whose fields have
// other names renames them.
func CheckActor(actor, reason string) []task.Problem {
	var problems []task.Problem
	if fault := actorFault(actor); fault != "" {
		problems = append(problems, task.Problem{Location: "/actor", Message: fault})
	}
	if fault := reasonFault(reason, maxReason); fault != "" {
		problems = append(problems, task.Problem{Location: "/reason", Message: fault})
	}
	return problems
}

// actorFault describes the error in the name of an actor, or returns "".
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

// reasonFault describes the error in a reason, or returns "".
func reasonFault(reason string, limit int) string {
	switch fault := task.TextFault(reason, limit); {
	case fault != "":
		return fault + " (at most " + strconv.Itoa(limit) + " bytes)"
	case reason != "" && blank(reason):
		return "is blank: say why; the reason is kept with the act"
	}
	return ""
}

// blank reports whether a text has no visible character.
func blank(s string) bool { return strings.TrimFunc(s, invisible) == "" }

// visible drops invisible runes, for strings.Map.
func visible(r rune) rune {
	if invisible(r) {
		return -1
	}
	return r
}

// invisible reports whether a rune is invisible: spaces, control characters, and those that only affect their
// neighbours.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r)
}

// expectFault returns the problems of an expectation of a thing that has states. An unknown
// state would never match, so a typing error would look like a conflict.
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
