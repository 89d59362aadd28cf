package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/template"
)

// A key may be limited to namespaces. Naming another namespace is forbidden here. For an object by ID, the Backend
// answers that it does not exist, so that IDs cannot be probed. Package stepworker checks workers, whose namespaces
// never change.

const defaultNamespace = template.DefaultNamespace

// ReachNamespace refuses a namespace outside the key's limits with forbidden. "" is the default namespace; location is
// its place in the request.
func ReachNamespace(ctx context.Context, namespace, location string) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	namespace = cmp.Or(namespace, defaultNamespace)
	if p.Reaches(namespace) {
		return nil
	}
	return OutsideNamespaces(p, tasker.Detail{Location: location,
		Message: fmt.Sprintf("the key does not reach the namespace %q", namespace)})
}

// OutsideNamespaces is the refusal of ReachNamespace.
func OutsideNamespaces(p *access.Principal, details ...tasker.Detail) error {
	return &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + p.Name + " is limited to other namespaces",
		Hint: "it reaches " + strings.Join(p.Namespaces(), ", "), Details: details}
}

// NarrowNamespace limits the namespace of a filter to the key's reach. "" stays "" for an unlimited key, and becomes
// the only namespace of a key that has one; a key with several must name one. Faults are at query.namespace; a caller
// with a filter in a body moves it.
func NarrowNamespace(ctx context.Context, namespace string) (string, error) {
	p := access.From(ctx)
	if !p.Limited() || namespace != "" && p.Reaches(namespace) {
		return namespace, nil
	}
	reached := p.Namespaces()
	if namespace == "" && len(reached) == 1 {
		return reached[0], nil
	}
	message := fmt.Sprintf("the key does not reach the namespace %q", namespace)
	if namespace == "" {
		message = "the key reaches several namespaces: name one"
	}
	return "", OutsideNamespaces(p, tasker.Detail{Location: "query.namespace", Message: message})
}

// Narrowed calls verb with a filter whose namespace it has narrowed.
func Narrowed[F, R any](ctx context.Context, namespace *string, verb func(context.Context, F) (R, error), filter *F,
) (answer R, err error) {
	if *namespace, err = NarrowNamespace(ctx, *namespace); err != nil {
		return answer, err
	}
	return verb(ctx, *filter)
}

// NarrowedAll is Narrowed for a filter with several namespaces.
func NarrowedAll[F, R any](ctx context.Context, namespaces *[]string, verb func(context.Context, F) (R, error),
	filter *F,
) (answer R, err error) {
	if *namespaces, err = NarrowNamespaces(ctx, *namespaces); err != nil {
		return answer, err
	}
	return verb(ctx, *filter)
}

// Reaching calls verb with a body whose namespace the key reaches.
func Reaching[B, R any](ctx context.Context, namespace string, verb func(context.Context, B) (R, error), body *B,
) (answer R, err error) {
	if err := ReachNamespace(ctx, namespace, "/namespace"); err != nil {
		return answer, err
	}
	return verb(ctx, *body)
}

// OwnNamespace returns the namespace that a request names at a place, or the only one of its key; "" is the default. It
// refuses one that the key does not reach.
func OwnNamespace(ctx context.Context, name, at string) (string, error) {
	if p := access.From(ctx); name == "" && p.Limited() && len(p.Namespaces()) == 1 {
		return p.Namespaces()[0], nil
	}
	return name, ReachNamespace(ctx, name, at)
}

// Caller returns the name of the request's key, "" without one.
func Caller(ctx context.Context) string {
	if p := access.From(ctx); p != nil {
		return p.Name
	}
	return ""
}

// NarrowNamespaces is NarrowNamespace for a parameter that repeats. Without values an unlimited key selects all, a
// limited one all that it reaches. It checks every value: an answer without some would look complete.
func NarrowNamespaces(ctx context.Context, list []string) ([]string, error) {
	namespaces := SplitAll(list)
	if len(namespaces) > MaxRepeats {
		return nil, TooManyRepeats()
	}
	p := access.From(ctx)
	if !p.Limited() {
		return namespaces, nil
	}
	for _, namespace := range namespaces {
		if err := ReachNamespace(ctx, namespace, "query.namespace"); err != nil {
			return nil, err
		}
	}
	if len(namespaces) == 0 {
		return p.Namespaces(), nil
	}
	return namespaces, nil
}
