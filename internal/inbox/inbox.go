package inbox

import (
	"cmp"
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Database is a database of the engine with the rows of dead letters. Both share transactions: a case and its group are
// stored together.
type Database interface {
	engine.Writer
	// IDs makes IDs of new rows, which grow with time.
	IDs() *task.Source
	ActStore() engine.ActStore
	NoteStore() engine.NoteStore
	Inbox() Store
}

// Options configure an Inbox. Listeners default to none and must not block.
type Options struct {
	// Carriers by driver names. Without its carrier, letters of a source cannot be sent back.
	Carriers map[string]Carrier
	Formats  []string
	// Ruler is the engine's, so that both follow a change at the same time.
	Ruler *Ruler
	// LetterBytes bounds the key, headers and payload of a letter; larger messages are not taken. Defaults to 16 MiB.
	LetterBytes int
	// DefaultPolicy applies to letters without a stored policy; nil leaves them to operators.
	DefaultPolicy *deadletter.Policy
	// ReadBatch bounds the messages of one transaction; 0: the carrier's bound.
	ReadBatch int
	Webhooks  Webhooks
	// IntakeBatch bounds the messages that become tasks in one transaction. Defaults to 1.
	IntakeBatch int
	// Intaken receives the result of each batch that became tasks.
	Intaken func(namespace, source string, of Intaken)
	// Gone receives losses: messages that a broker deleted before they were read.
	Gone      func(namespace, source string, messages int64)
	Observer  Observer
	PageItems int // bounds a page; defaults to 1,000
}

// Inbox holds the use cases of dead letters. It is safe for concurrent use.
type Inbox struct {
	store Store
	db    Database
	tasks *engine.Engine
	opts  Options

	// alone: no other process shares the database, so anything under way before begun is abandoned.
	alone bool
	begun task.Instant

	due     dueRows
	batch   int
	watched deadletter.Item // where watchCases continues; only Advance uses it
	tidied  EndedRedrive
	emptied deadletter.GroupID
	changed chan struct{} // has a value when Read should look now
}

// New returns an Inbox. It starts nothing: internal/host/upkeep calls Advance, SendDue, Triage and Tidy, and
// internal/host/node runs Read.
func New(db Database, tasks *engine.Engine, opts Options) *Inbox {
	opts.LetterBytes = cmp.Or(opts.LetterBytes, 16<<20)
	opts.PageItems = cmp.Or(opts.PageItems, 1000)
	opts.IntakeBatch = max(opts.IntakeBatch, 1)
	if opts.Gone == nil {
		opts.Gone = func(string, string, int64) {}
	}
	if opts.Observer == nil {
		opts.Observer = unobserved{}
	}
	if opts.Intaken == nil {
		opts.Intaken = func(string, string, Intaken) {}
	}
	_, shared := db.(engine.Cluster)
	return &Inbox{store: db.Inbox(), db: db, tasks: tasks, opts: opts, alone: !shared, begun: tasks.Now(),
		batch: sendBatch, due: newDueRows(db), changed: make(chan struct{}, 1)}
}

// now is the store's time, the same for all nodes.
func (in *Inbox) now() task.Instant { return in.tasks.Now() }

// orphans is the time before which an unrecorded mark belongs to a process that has ended.
func (in *Inbox) orphans() task.Instant {
	before := in.now().Add(-orphanAfter)
	if in.alone {
		before = max(before, in.begun-1)
	}
	return before
}

func (in *Inbox) newID() task.ID { return in.db.IDs().Take(in.now().Time(), 1) }

func (in *Inbox) newIDs(n int) func(no int) task.ID {
	ids := in.db.IDs()
	first := ids.Take(in.now().Time(), n).Seq()
	return func(no int) task.ID { return ids.ID(first + int64(no)) }
}

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

func onConflict(runs int, fn func(run int) error) (err error) {
	for run := range runs {
		if err = fn(run); task.CodeOf(err) != task.Conflict {
			break
		}
	}
	return err
}

func noLetter(id task.ID) error { return task.Errorf(task.NotFound, "there is no letter %s", id) }

func noGroup(id deadletter.GroupID) error {
	return task.Errorf(task.NotFound, "there is no group %s", id)
}

func noRedrive(id task.ID) error {
	return hinted(task.NotFound, "a redrive is deleted 90 days after its end", "there is no redrive %s", id)
}

func (in *Inbox) page(ctx context.Context, limit int, namespace *string) error {
	err := in.limit(limit)
	if err == nil {
		*namespace, err = narrow(ctx, *namespace)
	}
	return err
}

func (in *Inbox) limit(n int) error {
	if n < 1 || n > in.opts.PageItems {
		return task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d", in.opts.PageItems, n)
	}
	return nil
}
