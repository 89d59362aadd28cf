// Package inbox holds the use cases of dead letters: capture, groups, operations on many, sources, policies. They
// decide with the pure packages deadletter and failure, and store through roles that they declare, in transactions of
// the engine's store, so that a letter, its group and its occurrence are stored together or not at all.
//
// An [Inbox] is safe for concurrent use. Its verbs block until their outcome is durable. A verb with a [By] changes
// something and appears in the audit trail. Refusals are *task.Error with one of the codes of package task: Invalid
// with a JSON pointer for each fault, NotFound for an object that does not exist or that the key does not reach,
// Conflict for another version than the caller names; the comments of verbs list others. Other errors come from the
// database.
//
// How to read it: this package only puts the rooms together, which are packages below it; a room knows only the rooms
// listed before it. desk is what all share, and seam the seam to brokers. webhooks delivers events, sources keeps
// sources and policies, letters single letters, groups puts failures together. outbox sends, and capture takes in what
// died. redrive acts on many letters and cases, replay reads a broker's log again, compat is letters as other APIs see
// them, and tidy deletes. See docs/design/0073-rooms-of-the-inbox.md.
package inbox

import (
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/replay"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/inbox/tidy"
	"github.com/taskerhq/tasker/internal/inbox/webhooks"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Database is a database of the engine with the rows of dead letters. Both share transactions: a case and its group are
// stored together.
type Database interface {
	desk.Database
	Inbox() Store
}

// Options configure an Inbox. Listeners default to none and must not block.
type Options struct {
	// Carriers by driver names. Without its carrier, letters of a source cannot be sent back.
	Carriers seam.Carriers
	Formats  []string
	// Ruler is the engine's, so that both follow a change at the same time.
	Ruler *groups.Ruler
	// DefaultPolicy applies to letters without a stored policy; nil leaves them to operators.
	DefaultPolicy *deadletter.Policy
	// ReadBatch bounds the messages of one transaction; 0: the carrier's bound.
	ReadBatch int
	Webhooks  webhooks.Webhooks
	// IntakeBatch bounds the messages that become tasks in one transaction. Defaults to 1.
	IntakeBatch int
	// Intaken receives the result of each batch that became tasks.
	Intaken func(namespace, source string, of capture.Intaken)
	// Gone receives losses: messages that a broker deleted before they were read.
	Gone func(namespace, source string, messages int64)
	// Observer defaults to none, LetterBytes to 16 MiB, PageItems to 1,000.
	Observer               Observer
	LetterBytes, PageItems int
}

// Inbox holds the use cases of dead letters. Its verbs are those of its rooms. It is safe for concurrent use.
type Inbox struct {
	*webhooks.Deliverer
	*sources.Registry
	*letters.Keeper
	*groups.Sorter
	*outbox.Outbox
	*capture.Capturer
	*redrive.Redriver
	*replay.Replayer
	*compat.Views
	*tidy.Tidier
}

// New returns an Inbox. It starts nothing: internal/host/upkeep calls Advance, SendDue, Triage and Tidy, and
// internal/host/node runs Read.
func New(db Database, tasks *engine.Engine, opts Options) *Inbox {
	opts.IntakeBatch = max(opts.IntakeBatch, 1)
	if opts.Gone == nil {
		opts.Gone = func(string, string, int64) {}
	}
	rows, carriers := db.Inbox(), opts.Carriers
	d := desk.New(db, tasks, opts.Observer, opts.LetterBytes, opts.PageItems)
	in := &Inbox{Deliverer: webhooks.New(d, rows, opts.Webhooks)}
	d.Hooks = in.Deliverer
	in.Registry = sources.New(d, rows, sources.Options{Carriers: carriers, Formats: opts.Formats,
		DefaultPolicy: opts.DefaultPolicy})
	in.Keeper = letters.New(d, rows, in.Registry)
	in.Sorter = groups.New(d, rows, in.Registry, in.Keeper, opts.Ruler)
	in.Outbox = outbox.New(d, rows, carriers, in.Registry, in.Keeper)
	in.Capturer = capture.New(d, rows, capture.Options{Carriers: carriers, Ruler: opts.Ruler, ReadBatch: opts.ReadBatch,
		IntakeBatch: opts.IntakeBatch, Intaken: opts.Intaken, Gone: opts.Gone}, in.Registry, in.Outbox)
	in.Redriver = redrive.New(d, rows, carriers, in.Keeper, in.Sorter, in.Outbox)
	in.Replayer = replay.New(d, rows, replay.Options{Carriers: carriers, IntakeBatch: opts.IntakeBatch, Gone: opts.Gone},
		in.Registry, in.Capturer)
	in.Views = compat.New(d, rows, carriers, in.Registry, in.Keeper, in.Redriver)
	in.Tidier = tidy.New(d, rows, opts.Ruler)
	return in
}

// NewRuler returns a Ruler on a database.
func NewRuler(db Database, compile groups.RuleCompiler) *groups.Ruler {
	return groups.NewRuler(db.Inbox(), compile)
}

// Store is the storage of an Inbox. Package store implements it once, for every SQL database. A method with a
// transaction is part of it; the others answer from a committed state, on another connection: a store refuses them with
// the context of an open transaction (package nesting).
//
// A missing row is nil, and left out of lists and maps. A limit bounds a list or a count. The namespace "" selects all.
// Conflict: a row has another version than the one before the version to store.
//
// Locked rows stay locked until the transaction ends. The order of locks: a redrive, letters by ID, items, groups.
type Store interface {
	webhooks.Store
	sources.Store
	letters.Store
	groups.Store
	outbox.Store
	capture.Store
	redrive.Store
	replay.Store
	compat.Store
	tidy.Store
}
