package node

import (
	"context"
	"io"
	"maps"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/broker/post"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/rule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The intervals of the loops of dead letters, each on one node at a time.
const (
	// Answers include unfolded counts, so only news wait for a fold. In a burst a rarer fold adds up more failures
	// of a group: at 250 ms folding took a third of PostgreSQL's capturing time.
	triageEvery  = time.Second
	redriveEvery = 200 * time.Millisecond
	dueEvery     = time.Second
	movesEvery   = time.Second
	tidyEvery    = 30 * time.Second
)

// openInbox returns the use cases of dead letters, their loops, and closers; nil for a store without rows for them.
func openInbox(s engine.Database, e *engine.Engine, b *local.Backend, ruler *inbox.Ruler, opts Options) (
	*inbox.Inbox, []upkeep.Loop, []io.Closer,
) {
	db, ok := s.(inbox.Database)
	if !ok {
		if len(opts.Webhooks) > 0 {
			opts.Logger.Warn("webhooks receive nothing: they need a store of sqlite: or postgres:")
		}
		return nil, nil, nil
	}
	limits := e.Config().Limits
	drivers := driver.Registry{inbox.HTTP: post.Dial}
	maps.Copy(drivers, driver.Linked())
	maps.Copy(drivers, opts.Drivers)
	carriers := map[string]inbox.Carrier{}
	var closers []io.Closer
	for _, name := range drivers.Names() {
		c := carrier.New(drivers, name)
		carriers[name], closers = c, append(closers, c)
	}
	maps.Copy(carriers, opts.Carriers)
	sends := (&links{sources: db.Inbox(), carriers: carriers, missing: driver.Missing, log: opts.Logger}).sends
	sender := webhook.NewSender()
	in := inbox.New(db, e, inbox.Options{Carriers: carriers, Formats: format.Names(), Ruler: ruler,
		DefaultPolicy: opts.DefaultPolicy, ReadBatch: opts.ReadBatch,
		Webhooks:    webhooks(b, opts.Webhooks, sender),
		LetterBytes: limits.LetterBytes, PageItems: limits.PageItems, IntakeBatch: intakeBatch(e.Config()),
		Intaken: opts.Intaken, Gone: opts.Gone,
		Observer: opts.Letters})
	loops := []upkeep.Loop{
		{Name: "inbox_triage", Every: triageEvery, Once: in.Triage, Polite: true},
		{Name: "inbox_redrives", Every: redriveEvery, Once: in.Advance, Able: sends},
		{Name: "inbox_replays", Every: redriveEvery, Once: in.AdvanceReplays, Able: sends},
		{Name: "inbox_due", Every: dueEvery, Once: in.SendDue, Able: sends},
		{Name: "inbox_moves", Every: movesEvery, Once: in.AdvanceMoves},
		{Name: "inbox_intake_failures", Every: dueEvery, Once: in.WriteFailures, Able: sends},
		{Name: "inbox_tidy", Every: tidyEvery, Once: in.Tidy, Polite: true},
	}
	if len(opts.Webhooks) > 0 {
		loops = append(loops, upkeep.Loop{Name: "inbox_webhooks", Every: deliverEvery, Once: in.SubmitDeliveries})
	}
	return in, loops, append(closers, sender)
}

// openRuler is nil for a store without rows for dead letters. The second value is the same ruler; a nil pointer in
// the interface would not be nil.
func openRuler(s engine.Database) (*inbox.Ruler, engine.Grouper) {
	db, ok := s.(inbox.Database)
	if !ok {
		return nil, nil
	}
	r := inbox.NewRuler(db, compileRule)
	return r, r
}

func compileRule(r *deadletter.Rule) (inbox.RuleProgram, []task.Problem) { return rule.Compile(r) }

func declareSources(ctx context.Context, in *inbox.Inbox, sources []*deadletter.Source, policies []*deadletter.Policy,
) error {
	if len(sources) == 0 {
		return nil
	}
	if in == nil {
		return &tasker.Error{Code: tasker.CodeInvalid,
			Message: "the database keeps no dead letters, and sources are configured",
			Hint:    "name another database, or remove sources from the configuration"}
	}
	if err := in.Declare(ctx, sources); err != nil {
		return local.ToError(err)
	}
	return local.ToError(in.DeclarePolicies(ctx, policies))
}

// eventHooks stores the engine's events for webhooks. The engine needs it before the inbox exists, but has no
// events before both do.
type eventHooks struct{ inbox *inbox.Inbox }

func (h *eventHooks) StoreEvents(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
	if h.inbox == nil {
		return nil
	}
	return h.inbox.StoreEvents(ctx, tx, events...)
}
