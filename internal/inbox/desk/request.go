package desk

import (
	"cmp"
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// By is the actor of a request that changes something, and the reason.
type By struct {
	Actor   string // "": the holder of the request's key, or anonymous
	Reason  string
	Version int64  // that the caller has read; 0: any. For another one the act fails with Conflict.
	Key     string // name of the request's API key, once signed; "" without keys and for loops
}

// Signed fills in defaults and the name of the request's key. Invalid if actor or reason is too long, has control
// characters, or claims a name of the system.
func Signed(ctx context.Context, by By) (By, error) {
	if problems := engine.CheckActor(by.Actor, by.Reason); len(problems) > 0 {
		return by, &task.Error{Code: task.Invalid, Message: "nothing was changed", Problems: problems}
	}
	by.Actor, by.Reason, by.Key = engine.ActorOf(ctx, by.Actor), cmp.Or(by.Reason, engine.NoReason), engine.KeyOf(ctx)
	return by, nil
}

// Expected refuses an object that has another version than the caller has read.
func (by By) Expected(what string, version int64) error {
	if by.Version == 0 || by.Version == version {
		return nil
	}
	message := fmt.Sprintf("%s has changed: its version is %d, not %d", what, version, by.Version)
	switch {
	case version == 0:
		message = what + " does not exist, so it has no version that If-Match could name"
	case by.Version < 0:
		message = fmt.Sprintf("If-Match names no version of %s: its version is %d", what, version)
	}
	return Hinted(task.Conflict, "read it again", "%s", message)
}

// Hinted returns an error with a hint.
func Hinted(code task.Code, hint, format string, args ...any) error {
	e := task.Errorf(code, format, args...)
	e.Hint = hint
	return e
}

// Invalid returns an error about one field of a request.
func Invalid(message, at, fault string) *task.Error {
	return &task.Error{Code: task.Invalid, Message: message, Problems: []task.Problem{{Location: at, Message: fault}}}
}

// Faults collects the problems of a request.
type Faults []task.Problem

// Add adds a fault, unless it is "".
func (f *Faults) Add(at, fault string) {
	if fault != "" {
		*f = append(*f, task.Problem{Location: at, Message: fault})
	}
}

// When adds a fault if something is bad.
func (f *Faults) When(bad bool, at, fault string) {
	if bad {
		f.Add(at, fault)
	}
}

// KnownActions is the fault of an unknown action on a redrive or a replay.
const KnownActions = "must be start, pause, resume or cancel"

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
