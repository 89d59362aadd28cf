package inbox

import (
	"cmp"
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// By is the actor of a request that changes something, and the reason.
type By struct {
	Actor   string // "": the holder of the request's key, or anonymous
	Reason  string
	Version int64  // that the caller has read; 0: any. For another one the act fails with Conflict.
	key     string // name of the request's API key, once signed; "" without keys and for loops
}

// signed fills in defaults and the name of the request's key. Invalid if actor or reason is too long, has control
// characters, or claims a name of the system.
func signed(ctx context.Context, by By) (By, error) {
	if problems := engine.CheckActor(by.Actor, by.Reason); len(problems) > 0 {
		return by, &task.Error{Code: task.Invalid, Message: "nothing was changed", Problems: problems}
	}
	by.Actor, by.Reason, by.key = engine.ActorOf(ctx, by.Actor), cmp.Or(by.Reason, engine.NoReason), engine.KeyOf(ctx)
	return by, nil
}

func (by By) expected(what string, version int64) error {
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
	return hinted(task.Conflict, "read it again", "%s", message)
}

func hinted(code task.Code, hint, format string, args ...any) error {
	e := task.Errorf(code, format, args...)
	e.Hint = hint
	return e
}

func invalid(message, at, fault string) *task.Error {
	return &task.Error{Code: task.Invalid, Message: message, Problems: []task.Problem{{Location: at, Message: fault}}}
}

type faults []task.Problem

func (f *faults) add(at, fault string) {
	if fault != "" {
		*f = append(*f, task.Problem{Location: at, Message: fault})
	}
}

func (f *faults) when(bad bool, at, fault string) {
	if bad {
		f.add(at, fault)
	}
}

const knownActions = "must be start, pause, resume or cancel"
