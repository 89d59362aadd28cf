package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/sensitive"
	"github.com/taskerhq/tasker/internal/task"
)

// SensitiveOf returns what is sensitive in the letters of a source, by its settings of now, and nothing for a source
// that does not exist.
func (in *Inbox) SensitiveOf(ctx context.Context, namespace, source string) (sensitive.Rule, error) {
	s, err := in.store.FindSource(ctx, namespace, source)
	if err != nil || s == nil {
		return sensitive.Rule{}, err
	}
	return sensitive.Rule{Pointers: s.Sensitive, Headers: s.SensitiveHeaders}, nil
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

// masked reports whether the key of a request may not see what is sensitive.
func masked(ctx context.Context) bool {
	p := access.From(ctx)
	return p != nil && !p.Can(access.Sensitive)
}
