package inbox

import (
	"cmp"
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// Database is where an Inbox stores: a database of the engine, with the rows of dead letters. Both use the same
// transactions, which is how a case and its group are stored together.
type Database interface {
	engine.Writer
	// IDs makes the IDs of new rows; they grow with time.
	IDs() *task.Source
	// ActStore is the audit trail.
	ActStore() engine.ActStore
	// NoteStore keeps what was declared by configurations.
	NoteStore() engine.NoteStore
	// Inbox returns the rows of dead letters.
	Inbox() Store
}

// Tasks are the verbs of the engine that operations on cases use. *engine.Engine implements it. A verb that takes a
// transaction is part of it, so that an act and the result of its item are stored together.
type Tasks interface {
	// Now is the time of the store.
	Now() task.Instant
	// Level returns the level of a priority, and whether there is one of that name or number.
	Level(priority string) (int, bool)
	// ReplayIn runs the failed steps of a task in error again.
	ReplayIn(ctx context.Context, tx engine.Tx, id task.ID, r engine.Replay) (*engine.Replayed, error)
	// CancelIn cancels tasks; receipts are in their order.
	CancelIn(ctx context.Context, tx engine.Tx, ids []task.ID, c engine.Cancellation) ([]engine.Receipt, error)
	// EditContextWithin changes the context of a task in error, and replays it on request, in a transaction that write
	// begins.
	EditContextWithin(ctx context.Context, id task.ID, edit engine.ContextEdit,
		write func(edit func(context.Context, engine.Tx) error) error) (*engine.EditedContext, error)
	// UpdateCaseIn stores the findings of an investigation.
	UpdateCaseIn(ctx context.Context, tx engine.Tx, id task.ID, ch task.CaseChange) (*task.Case, error)
	// Case returns a case, or NotFound.
	Case(ctx context.Context, id task.ID) (*task.Case, error)
	// SubmitWithin submits tasks in a transaction that write begins.
	SubmitWithin(ctx context.Context, subs []engine.Submission,
		write func(submit func(context.Context, engine.Tx) error) error) ([]engine.Receipt, error)
	// SubmitEachWithin does so, and answers each that is refused in its receipt.
	SubmitEachWithin(ctx context.Context, subs []engine.Submission,
		write func(submit func(context.Context, engine.Tx) ([]engine.Receipt, error)) error) error
	// CheckSubmissions returns for each submission why it would be refused; nil for one that would not. It stores nothing.
	CheckSubmissions(ctx context.Context, subs []engine.Submission) []error
	// Steps returns a task and its steps, or NotFound; Records its attempts, the oldest first; TemplateOf the template.
	Steps(ctx context.Context, id task.ID) (*task.Task, []*task.Step, error)
	Records(ctx context.Context, id task.ID) (engine.Records, error)
	TemplateOf(ctx context.Context, def int64) (*task.Template, error)
	// Announce tells listeners of events once the transaction is committed.
	Announce(tx engine.Tx, events ...deadletter.Event)
}

// Options configure an Inbox.
type Options struct {
	// Carriers read sources and send letters back, by the names of their drivers. The letters of a source whose driver
	// has none cannot be sent back.
	Carriers map[string]Carrier
	// Formats are the names of the formats that a source may have.
	Formats []string
	// Ruler applies rules to fingerprints. It is the one of the engine, so that both follow a change at the same time.
	Ruler *Ruler
	// LetterBytes bounds the key, headers and payload of a letter, in bytes. What is larger is not taken. Defaults to
	// 16 MiB.
	LetterBytes int
	// DefaultPolicy applies to letters that no stored policy is for. nil: they are left to operators.
	DefaultPolicy *deadletter.Policy
	// ReadBatch bounds the messages of a source that are captured in one transaction; 0: the carrier's own bound.
	ReadBatch int
	// Webhooks receive events. Defaults to none.
	Webhooks Webhooks
	// IntakeBatch bounds the messages that become tasks in one transaction. Defaults to 1.
	IntakeBatch int
	// FailedJob writes a job of which a task was made and that failed for good, as the format job_failure.
	FailedJob func(*FailedJob) []byte
	// Intaken is told what became of each batch of messages that was taken in. It must not block. Defaults to none.
	Intaken func(namespace, source string, of Intaken)
	// Gone is told of messages that a broker has deleted before they were read. It must not block. Defaults to none.
	Gone func(namespace, source string, messages int64)
	// Observer is told what happens to letters. Defaults to none.
	Observer Observer
	// PageItems bounds a page. Defaults to 1,000.
	PageItems int
}

// Inbox holds the use cases of dead letters. It is safe for concurrent use.
type Inbox struct {
	store Store
	db    Database
	tasks Tasks
	opts  Options

	// alone: no other process shares the database, so what was under way before begun was left by one that has ended.
	alone bool
	begun task.Instant

	due     dueRows
	batch   int             // the items that are marked, sent and recorded together
	watched deadletter.Item // where the round of watchCases goes on; that of Advance alone
	// tidied and emptied are where the rounds of Tidy go on.
	tidied  EndedRedrive
	emptied deadletter.GroupID
	// changed has a value when Read shall look at the sources without waiting for its interval.
	changed chan struct{}
}

// New returns an Inbox on a database. It starts nothing: internal/upkeep calls Advance, SendDue, Triage and Tidy, and
// internal/node runs Read.
func New(db Database, tasks Tasks, opts Options) *Inbox {
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

// now is the time of the store. All nodes use the same clock, so that due times and marks mean the same to each of
// them.
func (in *Inbox) now() task.Instant { return in.tasks.Now() }

// orphans is the time before which a mark without a record was left by a process that has ended.
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
	if fault := task.TextFault(namespace, maxName); fault != "" {
		return &task.Error{Code: task.Invalid, Message: "the namespace is not valid",
			Problems: []task.Problem{{Location: "/namespace", Message: fault}}}
	}
	if reaches(ctx, namespace) {
		return nil
	}
	return task.Errorf(task.NotFound, "there is no namespace %q", namespace)
}

// narrow returns the namespace of a list: the one that was asked for, or the only one of the key. "" means all, which
// only an unlimited key may ask for; a key of several namespaces must name one of them.
func narrow(ctx context.Context, namespace string) (string, error) {
	if key := access.From(ctx); namespace == "" && key.Limited() {
		if of := key.Namespaces(); len(of) == 1 {
			return of[0], nil
		}
		return "", &task.Error{Code: task.Invalid, Message: "the key is limited to several namespaces",
			Hint: "name one of them", Problems: []task.Problem{{Location: "namespace", Message: "is missing"}}}
	}
	return namespace, reach(ctx, namespace)
}

// signed returns who acts, with the defaults filled in, and the name of the request's key. Invalid if actor or reason
// is too long, has control characters, or claims a name of the system.
func signed(ctx context.Context, by By) (By, error) {
	problems := engine.CheckActor(by.Actor, by.Reason)
	if len(problems) > 0 {
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
	return &task.Error{Code: task.Conflict, Message: message, Hint: "read it again"}
}

// noLetter is the error for an unknown letter, and for one that the key does not reach.
func noLetter(id task.ID) error { return task.Errorf(task.NotFound, "there is no letter %s", id) }

func noGroup(id deadletter.GroupID) error {
	return task.Errorf(task.NotFound, "there is no group %s", id)
}

func noRedrive(id task.ID) error {
	return &task.Error{Code: task.NotFound, Message: fmt.Sprintf("there is no redrive %s", id),
		Hint: "a redrive is deleted 90 days after its end"}
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
