// Package check refuses invalid requests, in the same words for each verb of the engine.
package check

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/kit/envelope"
	"github.com/taskerhq/tasker/internal/model/task"
)

// MaxProblems bounds the problems of one answer.
const MaxProblems = 50

// Refusal is the Invalid error for a whole call, with up to MaxProblems problems.
func Refusal(message string, problems []task.Problem) *task.Error {
	if n := len(problems); n > MaxProblems {
		problems = append(problems[:MaxProblems:MaxProblems],
			task.Problem{Message: fmt.Sprintf("and %d more problems", n-MaxProblems)})
	}
	return &task.Error{Code: task.Invalid, Message: message, Problems: problems}
}

// Batch refuses an empty list with Invalid, and more than most items with TooLarge. at is the pointer to the list.
func Batch(at string, n, most int) error {
	if n == 0 {
		return Refusal("the request is empty", []task.Problem{{Location: at, Message: "must have at least one item"}})
	}
	if n > most {
		return &task.Error{Code: task.TooLarge, Message: fmt.Sprintf("%d items in one request; the limit is %d", n, most),
			Hint: "send several requests; nothing of this one was stored"}
	}
	return nil
}

const maxOffset = 1_000_000

// Page refuses with Invalid a page of more than most items, or too large an offset, because the store reads the rows
// before it.
func Page(limit, offset, most int) error {
	switch {
	case limit < 1 || limit > most:
		return task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d", most, limit)
	case offset < 0 || offset > maxOffset:
		return task.Errorf(task.Invalid, "the offset of a page must be 0 to %d, not %d", maxOffset, offset)
	}
	return nil
}

// Payload describes the error in a JSON payload of at most that many bytes, or returns "".
func Payload(p []byte, most int) string {
	fault := task.JSONFault(p, most)
	if fault != "" && len(p) > most && envelope.Within(p) {
		fault += " (it has values encoded by the client, which is a third longer than what they stand for)"
	}
	return fault
}

// Renamed changes the location of problems, in place, for a field with another name in the API.
func Renamed(problems []task.Problem, from, to string) []task.Problem {
	for i := range problems {
		if problems[i].Location == from {
			problems[i].Location = to
		}
	}
	return problems
}

// One is a list of a problem, nil for none.
func One(p *task.Problem) []task.Problem {
	if p == nil {
		return nil
	}
	return []task.Problem{*p}
}
