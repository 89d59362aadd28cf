package deadletter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

type problems []task.Problem

func (p *problems) add(at, message string) {
	*p = append(*p, task.Problem{Location: at, Message: message})
}

func (p *problems) when(bad bool, at, message string) {
	if bad {
		p.add(at, message)
	}
}

func (p *problems) text(at, s string, limit int) {
	fault := task.TextFault(s, limit)
	p.when(fault != "", at, fault)
}

func (p *problems) name(at, s string) {
	p.when(strings.TrimSpace(s) == "", at, "must not be empty")
	p.text(at, s, task.MaxName)
}

func (p *problems) time(at string, i task.Instant) {
	fault := task.InstantFault(i)
	p.when(fault != "", at, fault)
}

func (p *problems) entries(at string, n, limit int) {
	p.when(n > limit, at, fmt.Sprintf("has %d entries; the limit is %d", n, limit))
}

func (p *problems) names(at string, list []string, limit int) {
	p.entries(at, len(list), limit)
	for i, name := range list {
		p.name(fmt.Sprintf("%s/%d", at, i), name)
	}
}

// between is inclusive and refuses NaN.
func (p *problems) between(at string, v, least, most float64) {
	p.when(!(least <= v && v <= most), at, fmt.Sprintf("must be from %s to %s", plain(least), plain(most)))
}

func (p *problems) within(at string, d, least, most time.Duration) {
	p.when(d < least || d > most, at, fmt.Sprintf("must be from %s to %s", least, most))
}

func (p *problems) oneOf(at, s string, allowed ...string) {
	p.when(s != "" && !slices.Contains(allowed, s), at, "must be one of "+strings.Join(allowed, ", "))
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// refused returns the error of an act in a wrong state; act is a past participle.
func refused(what string, id fmt.Stringer, state any, act string) *task.Error {
	return task.Errorf(task.WrongState, "the %s %s is %s and cannot be %s", what, id, state, act)
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
