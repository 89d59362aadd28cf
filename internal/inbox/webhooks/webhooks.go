// Package webhooks delivers events to the endpoints of operators: it stores the events that one receives, with the
// change that they tell, and submits a task for each delivery.
package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Webhooks are endpoints that receive events. Events are rows, written in the transaction of the change; a loop submits
// a task for each endpoint and event; nodes run these tasks. See docs/design/0033-webhooks.md.
type Webhooks struct {
	Endpoints []webhook.Endpoint
	Sender    *webhook.Sender
	Payload   func(*deadletter.Event) ([]byte, error)
	Test      func(now time.Time) ([]byte, error)
	// Register stores the present version of the template of deliveries if it is missing.
	Register func(context.Context) error
}

const (
	// DeliveryTemplate is the template of deliveries, in deadletter.SystemNamespace.
	DeliveryTemplate = "webhook-delivery"
	// DeliveryVersion is the version of DeliveryTemplate: other content needs another version.
	DeliveryVersion = "1"
	// EventRetention is the time until an event is deleted.
	EventRetention = 30 * 24 * time.Hour
	submitEvents   = 50 // per turn
)

// Delivery is the context of a delivery task. It names the event without content, so a user who may submit tasks cannot
// have other content signed.
type Delivery struct {
	EventUUID string `json:"event_uuid"`
	Webhook   string `json:"webhook"`
	Event     string `json:"event"`
}

// Deliverer delivers events to endpoints.
type Deliverer struct {
	*desk.Desk
	store Store
	opts  Webhooks
	due   *due.Rows[deadletter.Event, task.ID]
}

// New returns a Deliverer.
func New(d *desk.Desk, store Store, opts Webhooks) *Deliverer {
	return &Deliverer{d, store, opts,
		desk.RowsOf(d.DB, "the deliveries of event", func(e deadletter.Event) task.ID { return e.ID })}
}

func (in *Deliverer) hooked(e *deadletter.Event) bool {
	return slices.ContainsFunc(in.opts.Endpoints, func(to webhook.Endpoint) bool {
		return to.Wants(e.Hook(), e.Namespace)
	})
}

// StoreEvents stores the events that a webhook receives. It implements engine.EventHooks.
func (in *Deliverer) StoreEvents(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
	var stored []deadletter.Event
	for _, e := range events {
		if in.hooked(&e) {
			e.ID = in.NewID()
			stored = append(stored, e)
		}
	}
	if len(stored) == 0 {
		return nil
	}
	return in.store.AddEvents(ctx, tx, stored)
}

// SubmitDeliveries submits delivery tasks of waiting events, each in the transaction that marks its event, in one
// process at a time. It returns the number of events, and whether more wait. A *due.Error names skipped events.
func (in *Deliverer) SubmitDeliveries(ctx context.Context) (n int, more bool, err error) {
	now := in.Now()
	events, err := in.due.Read(now, submitEvents, func(limit int) ([]deadletter.Event, error) {
		return in.store.WaitingEvents(ctx, limit)
	})
	if err != nil || len(events) == 0 {
		return 0, false, err
	}
	if register := in.opts.Register; register != nil {
		if err := register(ctx); err != nil {
			return 0, false, err
		}
	}
	err = in.due.Each(ctx, now, events, func(ctx context.Context, e deadletter.Event) error {
		n++
		return in.submitDeliveries(ctx, &e)
	})
	return n, n == submitEvents, err
}

// submitDeliveries submits the tasks of one event. It drops the event for endpoints that this process lacks: all
// processes must have the same configuration.
func (in *Deliverer) submitDeliveries(ctx context.Context, e *deadletter.Event) error {
	var subs []engine.Submission
	for _, to := range in.opts.Endpoints {
		if !to.Wants(e.Hook(), e.Namespace) {
			continue
		}
		d := Delivery{EventUUID: e.ID.String(), Webhook: to.Name, Event: e.Hook()}
		body, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("encode delivery: %w", err)
		}
		subs = append(subs, engine.Submission{Name: DeliveryTemplate, Version: DeliveryVersion,
			Namespace: deadletter.SystemNamespace, Context: body,
			IdempotencyKey: "webhook:" + d.EventUUID + ":" + to.Name, Meta: task.Meta{Initiator: engine.System}})
	}
	mark := func(ctx context.Context, tx engine.Tx) error {
		return in.store.EventsSubmitted(ctx, tx, []task.ID{e.ID})
	}
	if len(subs) == 0 {
		return in.DB.Write(ctx, mark)
	}
	_, err := in.Tasks.SubmitWithin(ctx, subs, func(submit func(context.Context, engine.Tx) error) error {
		return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			if err := submit(ctx, tx); err != nil {
				return err
			}
			return mark(ctx, tx)
		})
	})
	return err
}

// Deliver sends an event to an endpoint, and returns the status of the answer; 0 if the endpoint no longer takes the
// event. A *webhook.Refusal says whether to try again.
func (in *Deliverer) Deliver(ctx context.Context, d Delivery) (status int, err error) {
	to := in.endpoint(d.Webhook)
	if to == nil {
		return 0, noWebhook(d.Webhook)
	}
	id, err := task.ParseID(d.EventUUID)
	if err != nil {
		return 0, task.Errorf(task.NotFound, "there is no event %q", d.EventUUID)
	}
	e, err := in.store.FindEvent(ctx, id)
	switch {
	case err != nil:
		return 0, err
	case e == nil:
		return 0, task.Errorf(task.NotFound, "there is no event %s: events are kept for 30 days", d.EventUUID)
	case !to.Wants(e.Hook(), e.Namespace):
		return 0, nil
	}
	payload, err := in.opts.Payload(e)
	if err != nil {
		return 0, err
	}
	return in.opts.Sender.Send(ctx, to, webhook.Message{ID: d.EventUUID, At: in.Now().Time(), Payload: payload})
}

func (in *Deliverer) endpoint(name string) *webhook.Endpoint {
	for i, to := range in.opts.Endpoints {
		if to.Name == name {
			return &in.opts.Endpoints[i]
		}
	}
	return nil
}

func noWebhook(name string) error {
	return desk.Hinted(task.NotFound, "see tasker webhook list", "there is no webhook %q", name)
}

// Endpoints returns the endpoints that the request reaches: for a key with namespaces, those that receive only events
// of these.
func (in *Deliverer) Endpoints(ctx context.Context) []webhook.Endpoint {
	return slices.DeleteFunc(slices.Clone(in.opts.Endpoints), func(to webhook.Endpoint) bool {
		return !reachesEndpoint(ctx, &to)
	})
}

func reachesEndpoint(ctx context.Context, to *webhook.Endpoint) bool {
	if !access.From(ctx).Limited() {
		return true
	}
	return len(to.Namespaces) > 0 && !slices.ContainsFunc(to.Namespaces, func(namespace string) bool {
		return !desk.Reaches(ctx, namespace)
	})
}

// TestWebhook sends one test event to an endpoint immediately.
func (in *Deliverer) TestWebhook(ctx context.Context, name string) (*model.WebhookAnswer, error) {
	to := in.endpoint(name)
	if to == nil || !reachesEndpoint(ctx, to) {
		return nil, noWebhook(name)
	}
	now := in.Now()
	payload, err := in.opts.Test(now.Time())
	if err != nil {
		return nil, err
	}
	test := &model.WebhookAnswer{Name: name, MessageID: in.NewID().String()}
	test.Status, err = in.opts.Sender.Send(ctx, to,
		webhook.Message{ID: test.MessageID, At: now.Time(), Payload: payload})
	test.Seconds = in.Now().Sub(now).Seconds()
	if refusal, ok := errors.AsType[*webhook.Refusal](err); ok {
		test.Error = cmp.Or(refusal.Error(), "refused")
	}
	test.Delivered = test.Error == ""
	return test, ctx.Err()
}

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	AddEvents(ctx context.Context, tx engine.Tx, events []deadletter.Event) error
	// WaitingEvents returns events without deliveries, the oldest first. EventsSubmitted marks them.
	WaitingEvents(ctx context.Context, limit int) ([]deadletter.Event, error)
	EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error
	FindEvent(ctx context.Context, id task.ID) (*deadletter.Event, error)
}
