package inbox

import (
	"cmp"

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
	// LetterBytes bounds the key, headers and payload of a letter; larger messages are not taken. Defaults to 16 MiB.
	LetterBytes int
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
	owner := func(s deadletter.Send) task.ID { return s.Owner }
	return &Inbox{store: db.Inbox(), db: db, tasks: tasks, opts: opts, alone: !shared, begun: tasks.Now(),
		batch: sendBatch, changed: make(chan struct{}, 1),
		dueEvents:   rowsOf(db, "the deliveries of event", func(e deadletter.Event) task.ID { return e.ID }),
		dueMoves:    rowsOf(db, "the split", func(m *Move) task.ID { return m.ID }),
		dueLetters:  rowsOf(db, "the letter", func(id task.ID) task.ID { return id }),
		dueSends:    rowsOf(db, "the send of letter", owner),
		dueFailures: rowsOf(db, "the failure of task", owner)}
}
