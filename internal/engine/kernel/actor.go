package kernel

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// System is the reserved name of the actor where no operator acts.
const System = access.System

// Anonymous and NoReason are stored where a request gives no actor and no reason.
const (
	Anonymous = "anonymous"
	NoReason  = "no reason given"
)

// maxReason is in bytes.
const maxReason = 4096

// KeyOf returns the name of the request's API key, or "".
func KeyOf(ctx context.Context) string {
	if p := access.From(ctx); p != nil {
		return p.Name
	}
	return ""
}

// ActorOf returns the claimed actor, else the key's holder, else Anonymous. A claimed name is not authenticated, so
// the audit trail also stores the key's.
func ActorOf(ctx context.Context, claimed string) string {
	return cmp.Or(claimed, KeyOf(ctx), Anonymous)
}

// CheckActor returns the problems of an actor and a reason, at "/actor" and "/reason". Both may be empty.
func CheckActor(actor, reason string) []task.Problem {
	var problems []task.Problem
	if fault := ActorFault(actor); fault != "" {
		problems = append(problems, task.Problem{Location: "/actor", Message: fault})
	}
	if fault := ReasonFault(reason, maxReason); fault != "" {
		problems = append(problems, task.Problem{Location: "/reason", Message: fault})
	}
	return problems
}

func ActorFault(actor string) string {
	switch fault := task.TextFault(actor, MaxName); {
	case fault != "":
		return fault
	case actor != "" && blank(actor):
		return "is blank: say who does it; the name is kept with the act"
	case strings.EqualFold(strings.Map(visible, actor), System):
		return strconv.Quote(actor) + " is reserved for what Tasker does on its own: say who does it"
	}
	return ""
}

func ReasonFault(reason string, limit int) string {
	switch fault := task.TextFault(reason, limit); {
	case fault != "":
		return fault + " (at most " + strconv.Itoa(limit) + " bytes)"
	case reason != "" && blank(reason):
		return "is blank: say why; the reason is kept with the act"
	}
	return ""
}

func blank(s string) bool { return strings.TrimFunc(s, invisible) == "" }

func visible(r rune) rune {
	if invisible(r) {
		return -1
	}
	return r
}

func invisible(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r)
}

// ExpectFault refuses unknown states, which would look like a conflict.
func ExpectFault[S ~string](x task.Expectation, states []S) []task.Problem {
	if x.State == "" || slices.Contains(states, S(x.State)) {
		return nil
	}
	var known []string
	for _, s := range states {
		known = append(known, string(s))
	}
	return []task.Problem{{Location: "/expected_state", Message: "must be one of " + strings.Join(known, ", ")}}
}

// MaxName and MaxText are in bytes.
const MaxName = task.MaxName

const MaxText = 1024

// ActTime is a time in an act's data, in the database's format.
type ActTime task.Instant

// MarshalText implements encoding.TextMarshaler.
func (t ActTime) MarshalText() ([]byte, error) {
	return task.Instant(t).Time().AppendFormat(nil, actTime), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *ActTime) UnmarshalText(text []byte) error {
	at, err := time.Parse(actTime, string(text))
	*t = ActTime(task.At(at))
	return err
}

// actTime is UTC in microseconds, so that texts sort like times.
const actTime = "2006-01-02T15:04:05.000000Z"
