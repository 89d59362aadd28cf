package endpoint

import (
	"strings"

	"github.com/taskerhq/tasker"
)

// PageQuery is the paging part of a list's query. Exported because huma ignores unexported embedded structs.
type PageQuery struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// MaxRepeats bounds the repetitions of a parameter. Each value is a term of a query in the store.
const MaxRepeats = 100

// TooManyRepeats refuses a parameter with more than MaxRepeats values.
func TooManyRepeats() error {
	return tasker.Errorf(tasker.CodeTooLarge, "a parameter may repeat at most %d times", MaxRepeats)
}

// SplitAll splits entries at commas: ?state=a,b equals ?state=a&state=b. It drops empty entries.
func SplitAll[T ~string](list []T) []T {
	var out []T
	for _, entry := range list {
		for word := range strings.SplitSeq(string(entry), ",") {
			if word != "" {
				out = append(out, T(word))
			}
		}
	}
	return out
}

// Words is SplitAll with a limit: it refuses more than MaxRepeats words.
func Words[T ~string](list []string) ([]T, error) {
	words := SplitAll(list)
	if len(words) > MaxRepeats {
		return nil, TooManyRepeats()
	}
	var out []T
	for _, word := range words {
		out = append(out, T(word))
	}
	return out, nil
}

// Given returns a parameter that may be missing: nil for its zero value.
func Given[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// ParseTaskState returns the state that a parameter names; at is the location of the parameter.
func ParseTaskState(at, word string) (tasker.TaskState, error) {
	for _, state := range taskStates() {
		if string(state) == word {
			return state, nil
		}
	}
	return "", BadParameter(at, "must be one of "+joinWords(taskStates()))
}

// BadParameter refuses a parameter; at is its location: query.limit, or a JSON pointer into the body.
func BadParameter(at, fault string) error {
	e := tasker.Errorf(tasker.CodeInvalid, "the parameters break 1 rule")
	if strings.HasPrefix(at, "/") {
		e = tasker.Errorf(tasker.CodeInvalid, "the body breaks 1 rule")
	}
	e.Details = []tasker.Detail{{Location: at, Message: fault}}
	return e
}

// CancelParams are the actor, the reason and the expectation of a cancellation.
type CancelParams struct {
	CancelledBy   string `query:"cancelled_by" maxLength:"255" doc:"Actor. Defaults to the name of the API key, else to anonymous."`
	Reason        string `query:"reason" maxLength:"1024" doc:"Reason for the act. Defaults to \"no reason given\"."`
	ExpectedState string `query:"expected_state" enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually" doc:"Expected state of the task. In any other state the act is refused with conflict."`
	GivenMatch    string `query:"if_match" maxLength:"1024" doc:"Same as the header If-Match."`
	Match
}
