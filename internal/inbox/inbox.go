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

// Database is a database of the engine, with the rows of dead letters. Both use the same transactions: so a case and
// its group are stored together.
type Database interface {
	engine.Writer
	// IDs makes the IDs of new rows; they grow with time.
	IDs() *task.Source
	ActStore() engine.ActStore
	NoteStore() engine.NoteStore // of entries of configurations
	Inbox() Store
}

// Options configure an Inbox. What is told of something must not block; it defaults to nothing.
type Options struct {
	// Carriers read sources and send letters back, by the names of their drivers. Without one, the letters of a source
	// cannot be sent back.
	Carriers map[string]Carrier
	Formats  []string // names, of those that a source may have
	// Ruler applies rules to fingerprints. It is the one of the engine, so that both follow a change at the same time.
	Ruler *Ruler
	// LetterBytes bounds the key, headers and payload of a letter. What is larger is not taken. Defaults to 16 MiB.
	LetterBytes int
	// DefaultPolicy applies to letters that no stored policy is for. nil: they are left to operators.
	DefaultPolicy *deadletter.Policy
	// ReadBatch bounds the messages of a source that are captured in one transaction; 0: the carrier's own bound.
	ReadBatch int
	Webhooks  Webhooks // defaults to none
	// IntakeBatch bounds the messages that become tasks in one transaction. Defaults to 1.
	IntakeBatch int
	// FailedJob writes a job of which a task was made and that failed for good, as the format job_failure.
	FailedJob func(*FailedJob) []byte
	// Intaken is told what became of each batch of messages that was taken in.
	Intaken func(namespace, source string, of Intaken)
	// Gone is told of messages that a broker has deleted before they were read.
	Gone      func(namespace, source string, messages int64)
	Observer  Observer // of letters
	PageItems int      // bounds a page; defaults to 1,000
}

// Inbox holds the use cases of dead letters. It is safe for concurrent use.
type Inbox struct {
	store Store
	db    Database
	tasks *engine.Engine
	opts  Options

	// alone: no other process shares the database, so what was under way before begun was left by one that has ended.
	alone bool
	begun task.Instant

	due     dueRows
	batch   int             // the items that are marked, sent and recorded together
	watched deadletter.Item // where watchCases continues; that of Advance alone
	// tidied and emptied are where Tidy continues.
	tidied  EndedRedrive
	emptied deadletter.GroupID
	changed chan struct{} // has a value when Read shall look at the sources at once
}

// New returns an Inbox on a database. It starts nothing: internal/host/upkeep calls Advance, SendDue, Triage and Tidy,
// and internal/host/node runs Read.
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

// now is the time of the store: due times and marks mean the same to each node.
func (in *Inbox) now() task.Instant { return in.tasks.Now() }

// orphans is the time before which a mark without a record is of a process that has ended.
func (in *Inbox) orphans() task.Instant {
	before := in.now().Add(-orphanAfter)
	if in.alone {
		before = max(before, in.begun-1)
	}
	return before
}

func (in *Inbox) newID() task.ID { return in.db.IDs().Take(in.now().Time(), 1) }

// newIDs reserves n IDs of the store, which grow with their number.
func (in *Inbox) newIDs(n int) func(no int) task.ID {
	ids := in.db.IDs()
	first := ids.Take(in.now().Time(), n).Seq()
	return func(no int) task.ID { return ids.ID(first + int64(no)) }
}

func reaches(ctx context.Context, namespace string) bool { return access.From(ctx).Reaches(namespace) }

// nameable reports whether a request may name an object of a namespace: one that its key reaches, by names that could
// be stored. Any other object does not exist for it.
func nameable(ctx context.Context, namespace, name string) bool {
	return reaches(ctx, namespace) && task.TextFault(namespace, maxName)+task.TextFault(name, maxName) == ""
}

// reach refuses a namespace that a request names and its key does not reach: NotFound, as for one that does not exist.
func reach(ctx context.Context, namespace string) error {
	switch fault := task.TextFault(namespace, maxName); {
	case fault != "":
		return invalid("the namespace is not valid", "/namespace", fault)
	case !reaches(ctx, namespace):
		return task.Errorf(task.NotFound, "there is no namespace %q", namespace)
	}
	return nil
}

// narrow returns the namespace of a list: the one that was asked for, or the only one of the key. "" means all, which
// only an unlimited key may ask for; a key of several namespaces must name one of them.
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

// signed returns who acts, with the defaults filled in, and the name of the request's key. Invalid if actor or reason
// is too long, has control characters, or claims a name of the system.
func signed(ctx context.Context, by By) (By, error) {
	if problems := engine.CheckActor(by.Actor, by.Reason); len(problems) > 0 {
		return by, &task.Error{Code: task.Invalid, Message: "nothing was changed", Problems: problems}
	}
	by.Actor, by.Reason, by.key = engine.ActorOf(ctx, by.Actor), cmp.Or(by.Reason, engine.NoReason), engine.KeyOf(ctx)
	return by, nil
}

// expected refuses an act on a version that the caller has not read: Conflict. Version 0 accepts any.
func (by By) expected(what string, version int64) error {
	if by.Version == 0 || by.Version == version {
		return nil
	}
	message := fmt.Sprintf("%s has changed: its version is %d, not %d", what, version, by.Version)
	switch {
	case version == 0:
		message = what + " does not exist, so it has no version that If-Match could name"
	case by.Version < 0: // an ETag that no version can have
		message = fmt.Sprintf("If-Match names no version of %s: its version is %d", what, version)
	}
	return hinted(task.Conflict, "read it again", "%s", message)
}

// hinted is an error with a hint.
func hinted(code task.Code, hint, format string, args ...any) error {
	e := task.Errorf(code, format, args...)
	e.Hint = hint
	return e
}

// invalid is the error for one fault of a request.
func invalid(message, at, fault string) *task.Error {
	return &task.Error{Code: task.Invalid, Message: message, Problems: []task.Problem{{Location: at, Message: fault}}}
}

// faults are what is wrong with a request.
type faults []task.Problem

// add notes a fault at a place, unless it is "".
func (f *faults) add(at, fault string) {
	if fault != "" {
		*f = append(*f, task.Problem{Location: at, Message: fault})
	}
}

// when notes a fault if something is bad.
func (f *faults) when(bad bool, at, fault string) {
	if bad {
		f.add(at, fault)
	}
}

// onConflict runs a transaction up to so many times, until no other one has come first.
func onConflict(runs int, fn func(run int) error) (err error) {
	for run := range runs {
		if err = fn(run); task.CodeOf(err) != task.Conflict {
			break
		}
	}
	return err
}

// noLetter is the error for an unknown letter, and for one that the key does not reach.
func noLetter(id task.ID) error { return task.Errorf(task.NotFound, "there is no letter %s", id) }

func noGroup(id deadletter.GroupID) error {
	return task.Errorf(task.NotFound, "there is no group %s", id)
}

func noRedrive(id task.ID) error {
	return hinted(task.NotFound, "a redrive is deleted 90 days after its end", "there is no redrive %s", id)
}

// page checks the limit of a page, and narrows its namespace.
func (in *Inbox) page(ctx context.Context, limit int, namespace *string) error {
	err := in.limit(limit)
	if err == nil {
		*namespace, err = narrow(ctx, *namespace)
	}
	return err
}

// limit refuses a page of another size than 1 to PageItems.
func (in *Inbox) limit(n int) error {
	if n < 1 || n > in.opts.PageItems {
		return task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d", in.opts.PageItems, n)
	}
	return nil
}
