package local

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/task"
)

// filterFaults collects the faults of a filter.
// All of them are reported together, so that a caller corrects a request once. The zero value has no faults.
type filterFaults []tasker.Detail

// add appends a fault at the name of a query parameter or a JSON pointer.
func (f *filterFaults) add(at, message string) {
	*f = append(*f, tasker.Detail{Location: at, Message: message})
}

// name checks a text that is compared with stored names.
// An empty text does not restrict and has no fault. A text that no name can have would only find nothing; it is
// refused, because it is a mistake of the caller.
func (f *filterFaults) name(at, text string) {
	if fault := task.TextFault(text, task.MaxName); fault != "" {
		f.add(at, fault)
	}
}

// names checks several texts: pairs of a location and a text.
func (f *filterFaults) names(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		f.name(pairs[i], pairs[i+1])
	}
}

// instant checks that a time is one that the stores can hold.
// 0 means no bound and has no fault.
func (f *filterFaults) instant(at string, i task.Instant) {
	if fault := task.InstantFault(i); fault != "" {
		f.add(at, fault)
	}
}

// err refuses the filter if it has any faults.
func (f filterFaults) err() error {
	if len(f) == 0 {
		return nil
	}
	return badFilter(f...)
}

// badFilter refuses a filter with CodeInvalid.
func badFilter(problems ...tasker.Detail) *tasker.Error {
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the filter is not valid", Details: problems}
}

// damages joins the damage of the rows in one answer.
// Empty texts are left out; without any damage it is "".
func damages(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return s == "" }), "; ")
}

// times converts a number of units to a duration. A number too large for a duration becomes the longest one, so that it
// exceeds its bound.
func times(n int, unit time.Duration) time.Duration {
	if most := math.MaxInt64 / int64(unit); int64(n) > most || int64(n) < -most {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
