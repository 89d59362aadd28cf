package inbox

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/sensitive"
	"github.com/taskerhq/tasker/internal/task"
)

// SensitiveOf returns what is sensitive in the letters of a source, by its settings of now, and nothing for a source
// that does not exist.
func (in *Inbox) SensitiveOf(ctx context.Context, namespace, source string) (sensitive.Rule, error) {
	s, err := in.store.FindSource(ctx, namespace, source)
	return ruleOf(s), err
}

// SensitiveOfLetter returns what is sensitive in a letter, or NotFound.
func (in *Inbox) SensitiveOfLetter(ctx context.Context, id task.ID) (sensitive.Rule, error) {
	l, err := in.store.FindLetter(ctx, id)
	switch {
	case err != nil:
		return sensitive.Rule{}, err
	case l == nil:
		return sensitive.Rule{}, task.Errorf(task.NotFound, "there is no such letter")
	}
	return in.SensitiveOf(ctx, l.Namespace, l.Source)
}

// SensitiveOfAll returns what is sensitive in the letters of all sources of a namespace as one; "" means all
// namespaces.
func (in *Inbox) SensitiveOfAll(ctx context.Context, namespace string) (sensitive.Rule, error) {
	var all sensitive.Rule
	sources, err := in.store.Sources(ctx, namespace)
	for _, s := range sources {
		all.Pointers = append(all.Pointers, s.Sensitive...)
		all.Headers = append(all.Headers, s.SensitiveHeaders...)
	}
	return all, err
}

// sensitiveHeaders returns the names of sensitive headers in a namespace, by the names of the sources.
func (in *Inbox) sensitiveHeaders(ctx context.Context, namespace string) (map[string][]string, error) {
	sources, err := in.store.Sources(ctx, namespace)
	if err != nil {
		return nil, err
	}
	by := map[string][]string{}
	for _, s := range sources {
		by[s.Name] = s.SensitiveHeaders
	}
	return by, nil
}

func ruleOf(s *deadletter.Source) sensitive.Rule {
	if s == nil {
		return sensitive.Rule{}
	}
	return sensitive.Rule{Pointers: s.Sensitive, Headers: s.SensitiveHeaders}
}

// refuseUnmasking refuses a change of a source by a key that may not see what is sensitive, if the key would see it
// afterwards: in the letters, or in what an intake takes out of messages.
func refuseUnmasking(ctx context.Context, known, next *deadletter.Source) error {
	if !masked(ctx) {
		return nil
	}
	if !ruleOf(next).Covers(ruleOf(known)) {
		return forbidden("the source was not saved: fewer values would be masked", "to remove sensitive fields from a source")
	}
	if known != nil && slices.Equal(known.Intake.Values(), next.Intake.Values()) {
		return nil // to mark more is always allowed
	}
	return refuseReading(ctx, next, next.Intake, nil)
}

// refuseReading refuses a key that may not see what is sensitive in the messages of a source an intake that takes such
// values out of them, and the choice of messages by them.
func refuseReading(ctx context.Context, s *deadletter.Source, intake *deadletter.Intake,
	headers []deadletter.Header,
) error {
	if !masked(ctx) {
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
		return forbidden("it reads what the key may not see", "to read sensitive values")
	}
	return nil
}

// forbidden is the error for what a key without the permission may not do.
func forbidden(message, what string) error {
	return &task.Error{Code: task.Forbidden, Message: message,
		Hint: what + " needs the permission " + string(access.Sensitive)}
}

func masked(ctx context.Context) bool {
	p := access.From(ctx)
	return p != nil && !p.Can(access.Sensitive)
}
