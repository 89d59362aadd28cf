package local

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/task"
)

// filterFaults collects the faults of a filter, so that a caller corrects a request once. The zero value has none.
type filterFaults []tasker.Detail

func (f *filterFaults) add(at, message string) {
	*f = append(*f, tasker.Detail{Location: at, Message: message})
}

// name refuses a text that no name can have: it would find nothing. "" does not restrict.
func (f *filterFaults) name(at, text string) {
	if fault := task.TextFault(text, task.MaxName); fault != "" {
		f.add(at, fault)
	}
}

// names checks pairs of a location and a text.
func (f *filterFaults) names(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		f.name(pairs[i], pairs[i+1])
	}
}

// all checks the values of a parameter that repeats.
func (f *filterFaults) all(at string, texts []string) {
	for _, text := range texts {
		f.name(at, text)
	}
}

func (f *filterFaults) instant(at string, i task.Instant) {
	if fault := task.InstantFault(i); fault != "" {
		f.add(at, fault)
	}
}

func (f filterFaults) err() error {
	if len(f) == 0 {
		return nil
	}
	return badFilter(f...)
}

func badFilter(problems ...tasker.Detail) *tasker.Error {
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the filter is not valid", Details: problems}
}

// damages joins the damage of several rows; "" without any.
func damages(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ")
}

// times saturates: a number too large for a duration becomes the longest one, and exceeds its bound.
func times(n int, unit time.Duration) time.Duration {
	if most := math.MaxInt64 / int64(unit); int64(n) > most || int64(n) < -most {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
