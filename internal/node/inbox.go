package node

import (
	"io"
	"maps"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/post"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/carrier"
	"github.com/taskerhq/tasker/internal/local"
	"github.com/taskerhq/tasker/internal/upkeep"
	"github.com/taskerhq/tasker/internal/webhook"
)

// The intervals of the loops of dead letters. Each of them runs on one node at a time.
const (
	triageEvery  = 250 * time.Millisecond
	redriveEvery = 200 * time.Millisecond
	dueEvery     = time.Second
	tidyEvery    = 30 * time.Second
)

// openInbox returns the use cases of dead letters, their loops, and what to close after them; nil for a store without
// rows for them.
func openInbox(s engine.Database, e *engine.Engine, b *local.Backend, opts Options) (*inbox.Inbox, []upkeep.Loop,
	[]io.Closer,
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
	maps.Copy(drivers, opts.Drivers)
	carriers := map[string]inbox.Carrier{}
	var closers []io.Closer
	for _, name := range drivers.Names() {
		c := carrier.New(drivers, name)
		carriers[name], closers = c, append(closers, c)
	}
	maps.Copy(carriers, opts.Carriers)
	sender := webhook.NewSender()
	in := inbox.New(db, e, inbox.Options{Carriers: carriers, Webhooks: webhooks(b, opts.Webhooks, sender),
		PayloadBytes: limits.PayloadBytes, PageItems: limits.PageItems})
	loops := []upkeep.Loop{
		{Name: "inbox_triage", Every: triageEvery, Once: in.Triage},
		{Name: "inbox_redrives", Every: redriveEvery, Once: in.Advance},
		{Name: "inbox_due", Every: dueEvery, Once: in.SendDue},
		{Name: "inbox_tidy", Every: tidyEvery, Once: in.Tidy, Polite: true},
	}
	if len(opts.Webhooks) > 0 {
		loops = append(loops, upkeep.Loop{Name: "inbox_webhooks", Every: deliverEvery, Once: in.SubmitDeliveries})
	}
	return in, loops, append(closers, sender)
}
