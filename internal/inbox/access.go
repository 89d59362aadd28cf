package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

func reaches(ctx context.Context, namespace string) bool { return access.From(ctx).Reaches(namespace) }

// nameable reports whether a request may name an object of a namespace: its key reaches the namespace, and the names
// could be stored. Any other object is NotFound.
func nameable(ctx context.Context, namespace, name string) bool {
	return reaches(ctx, namespace) && task.TextFault(namespace, maxName)+task.TextFault(name, maxName) == ""
}

func reach(ctx context.Context, namespace string) error {
	switch fault := task.TextFault(namespace, maxName); {
	case fault != "":
		return invalid("the namespace is not valid", "/namespace", fault)
	case !reaches(ctx, namespace):
		return task.Errorf(task.NotFound, "there is no namespace %q", namespace)
	}
	return nil
}

// narrow returns the namespace of a list: the requested one, or the only one of the key. "" means all, which only an
// unlimited key may list; a key of several namespaces must name one.
func narrow(ctx context.Context, namespace string) (string, error) {
	if key := access.From(ctx); namespace == "" && key.Limited() {
		if of := key.Namespaces(); len(of) == 1 {
			return of[0], nil
		}
		e := invalid("the key is limited to several namespaces", "namespace", "is missing")
		e.Hint = "name one of them"
		return "", e
	}
	return namespace, reach(ctx, namespace)
}

func masked(ctx context.Context) bool {
	p := access.From(ctx)
	return p != nil && !p.Can(access.Sensitive)
}

func forbidden(message, what string) error {
	return hinted(task.Forbidden, what+" needs the permission "+string(access.Sensitive), "%s", message)
}
