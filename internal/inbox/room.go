package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// introduce adds a source that a program reports under for the first time. Another one was removed while a node still
// read it: its messages stay on their broker.
func (in *Inbox) introduce(ctx context.Context, tx engine.Tx, s *deadletter.Source) error {
	if s.Driver != HTTP {
		return noSource(s.Name)
	}
	known, err := in.store.Source(ctx, tx, s.Namespace, s.Name)
	if err != nil || known != nil { // added in the meantime
		return err
	}
	added := withDefaults(s)
	if err := in.store.SaveSource(ctx, tx, added); err != nil {
		return err
	}
	by := By{Actor: engine.System, Reason: "a program reports its first failure under this name"}
	return in.act(ctx, tx, act{kind: "add_source", by: by, namespace: s.Namespace, of: s.Name,
		after: recordOfSource(added)})
}

// maxSources bounds the sources of a namespace: whoever may report failures adds sources by their names.
const maxSources = 1000

// roomForSource refuses one source more than a namespace may have.
func (in *Inbox) roomForSource(ctx context.Context, namespace string) error {
	all, err := in.store.Sources(ctx, namespace)
	if err != nil || len(all) < maxSources {
		return err
	}
	return &task.Error{Code: task.Exhausted, Message: "the namespace has as many sources as it may have",
		Hint: "report under the name of a source that exists: see tasker source list"}
}

// room refuses to capture when a source has as many open letters as it may have. It drops nothing: the broker keeps the
// messages. The last batch may go beyond the bound: one that is larger than the bound could never be captured else.
func (in *Inbox) room(ctx context.Context, of *deadletter.Source) error {
	if of.MaxOpen == 0 {
		return nil
	}
	// Before the transaction: counting reads up to MaxOpen rows, which must not hold the writer up.
	open, err := in.store.OpenLetters(ctx, of.Namespace, of.Name, of.MaxOpen+1)
	if err != nil || open < of.MaxOpen {
		return err
	}
	return &task.Error{Code: task.Exhausted,
		Message: "the source " + of.Name + " has as many open letters as it may have; nothing was captured",
		Hint:    "redrive or discard letters, or raise max_open of the source"}
}
