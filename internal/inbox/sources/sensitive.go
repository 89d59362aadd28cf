package sources

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SensitiveOf returns the sensitive parts of letters of a source, by its present settings; none without a source.
func (in *Registry) SensitiveOf(ctx context.Context, namespace, source string) (sensitive.Rule, error) {
	s, err := in.store.FindSource(ctx, namespace, source)
	return ruleOf(s), err
}

// SensitiveOfLetter returns the sensitive parts of a letter, or NotFound.
func (in *Registry) SensitiveOfLetter(ctx context.Context, id task.ID) (sensitive.Rule, error) {
	l, err := in.store.FindLetter(ctx, id)
	if err == nil && l == nil {
		err = task.Errorf(task.NotFound, "there is no such letter")
	}
	if err != nil {
		return sensitive.Rule{}, err
	}
	return in.SensitiveOf(ctx, l.Namespace, l.Source)
}

// SensitiveOfAll combines all sources of a namespace; "" means all namespaces.
func (in *Registry) SensitiveOfAll(ctx context.Context, namespace string) (sensitive.Rule, error) {
	var all sensitive.Rule
	sources, err := in.store.Sources(ctx, namespace)
	for _, s := range sources {
		all.Pointers = append(all.Pointers, s.Sensitive...)
		all.Headers = append(all.Headers, s.SensitiveHeaders...)
	}
	return all, err
}

// SensitiveHeaders returns the names of sensitive headers by source.
func (in *Registry) SensitiveHeaders(ctx context.Context, namespace string) (map[string][]string, error) {
	sources, err := in.store.Sources(ctx, namespace)
	by := map[string][]string{}
	for _, s := range sources {
		by[s.Name] = s.SensitiveHeaders
	}
	return by, err
}

func ruleOf(s *deadletter.Source) sensitive.Rule {
	if s == nil {
		return sensitive.Rule{}
	}
	return sensitive.Rule{Pointers: s.Sensitive, Headers: s.SensitiveHeaders}
}

// refuseUnmasking refuses a change that would show sensitive values, in letters or in tasks of an intake, to a key that
// may not see them.
func refuseUnmasking(ctx context.Context, known, next *deadletter.Source) error {
	if !desk.Masked(ctx) {
		return nil
	}
	if !ruleOf(next).Covers(ruleOf(known)) {
		return desk.Forbidden("the source was not saved: fewer values would be masked",
			"to remove sensitive fields from a source")
	}
	if known != nil && slices.Equal(known.Intake.Values(), next.Intake.Values()) {
		return nil
	}
	return RefuseReading(ctx, next, next.Intake, nil)
}

// RefuseReading refuses a key without access to sensitive values an intake that reads them, and a selection by
// sensitive headers.
func RefuseReading(ctx context.Context, s *deadletter.Source, intake *deadletter.Intake,
	headers []deadletter.Header,
) error {
	if !desk.Masked(ctx) {
		return nil
	}
	hidden := func(name string) bool {
		return slices.ContainsFunc(s.SensitiveHeaders, func(h string) bool { return strings.EqualFold(h, name) })
	}
	pointers, reads := sensitive.Lenient(s.Sensitive), false
	for _, v := range intake.Values() {
		reads = reads || v.From == deadletter.FromHeader && hidden(v.Text) ||
			v.From == deadletter.FromPayload && pointers.Touches(v.Text)
	}
	for _, h := range headers {
		reads = reads || hidden(h.Name)
	}
	if reads {
		return desk.Forbidden("it reads what the key may not see", "to read sensitive values")
	}
	return nil
}
