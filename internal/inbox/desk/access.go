package desk

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Reaches reports whether the key of a request reaches a namespace.
func Reaches(ctx context.Context, namespace string) bool { return access.From(ctx).Reaches(namespace) }

// Nameable reports whether a request may name an object of a namespace: its key reaches the namespace, and the names
// could be stored. Any other object is NotFound.
func Nameable(ctx context.Context, namespace, name string) bool {
	return Reaches(ctx, namespace) && task.TextFault(namespace, MaxName)+task.TextFault(name, MaxName) == ""
}

// Reach refuses a namespace that is not valid, or that the key of a request does not reach.
func Reach(ctx context.Context, namespace string) error {
	switch fault := task.TextFault(namespace, MaxName); {
	case fault != "":
		return Invalid("the namespace is not valid", "/namespace", fault)
	case !Reaches(ctx, namespace):
		return task.Errorf(task.NotFound, "there is no namespace %q", namespace)
	}
	return nil
}

// Narrow returns the namespace of a list: the requested one, or the only one of the key. "" means all, which only an
// unlimited key may list; a key of several namespaces must name one.
func Narrow(ctx context.Context, namespace string) (string, error) {
	if key := access.From(ctx); namespace == "" && key.Limited() {
		if of := key.Namespaces(); len(of) == 1 {
			return of[0], nil
		}
		e := Invalid("the key is limited to several namespaces", "namespace", "is missing")
		e.Hint = "name one of them"
		return "", e
	}
	return namespace, Reach(ctx, namespace)
}

// Masked reports whether the key of a request must not see sensitive values.
func Masked(ctx context.Context) bool {
	p := access.From(ctx)
	return p != nil && !p.Can(access.Sensitive)
}

// Forbidden refuses a key without access to sensitive values.
func Forbidden(message, what string) error {
	return Hinted(task.Forbidden, what+" needs the permission "+string(access.Sensitive), "%s", message)
}
