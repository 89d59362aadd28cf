package inbox

import (
	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
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
	// DefaultPolicy applies to letters without a stored policy; nil leaves them to operators.
	DefaultPolicy *deadletter.Policy
	// ReadBatch bounds the messages of one transaction; 0: the carrier's bound.
	ReadBatch int
	Webhooks  Webhooks
	// IntakeBatch bounds the messages that become tasks in one transaction. Defaults to 1.
	IntakeBatch int
	FailedJob   func(*FailedJob) []byte
	// Intaken receives the result of each batch that became tasks.
	Intaken func(namespace, source string, of Intaken)
	// Gone receives losses: messages that a broker deleted before they were read.
	Gone func(namespace, source string, messages int64)
	// Observer defaults to none, LetterBytes to 16 MiB, PageItems to 1,000.
	Observer               Observer
	LetterBytes, PageItems int
}

// Inbox holds the use cases of dead letters. It is safe for concurrent use.
type Inbox struct {
	*desk.Desk
	store Store
	opts  Options

	dueEvents   *due.Rows[deadletter.Event, task.ID]
	dueMoves    *due.Rows[*Move, task.ID]
	dueLetters  *due.Rows[task.ID, task.ID]
	dueSends    *due.Rows[deadletter.Send, task.ID]
	dueFailures *due.Rows[deadletter.Send, task.ID]

	batch   int
	watched deadletter.Item // where watchCases continues; only Advance uses it
	tidied  EndedRedrive
	emptied deadletter.GroupID
	changed chan struct{} // has a value when Read should look now
}

// New returns an Inbox. It starts nothing: internal/host/upkeep calls Advance, SendDue, Triage and Tidy, and
// internal/host/node runs Read.
func New(db Database, tasks *engine.Engine, opts Options) *Inbox {
	opts.IntakeBatch = max(opts.IntakeBatch, 1)
	if opts.Gone == nil {
		opts.Gone = func(string, string, int64) {}
	}
	if opts.Intaken == nil {
		opts.Intaken = func(string, string, Intaken) {}
	}
	owner := func(s deadletter.Send) task.ID { return s.Owner }
	d := desk.New(db, tasks, opts.Observer, opts.LetterBytes, opts.PageItems)
	in := &Inbox{Desk: d, store: db.Inbox(), opts: opts,
		batch: sendBatch, changed: make(chan struct{}, 1),
		dueEvents:   desk.RowsOf(db, "the deliveries of event", func(e deadletter.Event) task.ID { return e.ID }),
		dueMoves:    desk.RowsOf(db, "the split", func(m *Move) task.ID { return m.ID }),
		dueLetters:  desk.RowsOf(db, "the letter", func(id task.ID) task.ID { return id }),
		dueSends:    desk.RowsOf(db, "the send of letter", owner),
		dueFailures: desk.RowsOf(db, "the failure of task", owner)}
	d.Hooks = in
	return in
}
