package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/api/news"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker"
)

const (
	// deliverEvery is the interval of looks for waiting events.
	deliverEvery = time.Second
	// deliveries bounds a node's concurrent deliveries, deliveryDrain the wait of a stopping node for them.
	deliveries, deliveryDrain = 10, 2 * time.Second
)

// deliveryTemplate retries for about a day: after 1 s, 2 s, 4 s and so on, at most every six hours.
const deliveryTemplate = `name: ` + inbox.DeliveryTemplate + `
namespace_name: ` + deadletter.SystemNamespace + `
version: "` + inbox.DeliveryVersion + `"
description: Delivers an event of the inbox to a webhook.
steps:
  - name: deliver
    handler: ` + inbox.DeliveryTemplate + `
    timeout_seconds: 60
    retry: {max_attempts: 18, backoff: exponential, backoff_base_ms: 1000, max_backoff_ms: 21600000, jitter: 0.1}
`

func webhooks(b *local.Backend, endpoints []webhook.Endpoint, sender *webhook.Sender) inbox.Webhooks {
	return inbox.Webhooks{Endpoints: endpoints, Sender: sender, Payload: news.Payload, Test: news.Test,
		Register: func(ctx context.Context) error {
			_, err := b.RegisterTemplate(ctx, tasker.TemplateSource{YAML: deliveryTemplate, RegisteredBy: "tasker",
				Reason: "webhooks are configured"})
			return err
		}}
}

// deliver is a worker that delivers events until ctx ends.
func (n *Node) deliver(ctx context.Context, log *slog.Logger) {
	w := worker.New(tasker.NewClient(n), &worker.Options{Name: "webhooks of " + n.name,
		Namespaces: []string{deadletter.SystemNamespace}, Concurrency: deliveries, DrainTimeout: deliveryDrain, Logger: log,
		Quiet: true})
	worker.Handle(w, inbox.DeliveryTemplate, n.Deliver)
	for ctx.Err() == nil {
		if err := w.Run(ctx); err != nil {
			log.Warn("deliveries to webhooks are interrupted", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(deliverEvery):
		}
	}
}

// Delivered is the result of a delivery step.
type Delivered struct {
	Status int    `json:"status,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Deliver delivers an event. Its error says whether and when to retry.
func (n *Node) Deliver(ctx context.Context, d inbox.Delivery) (Delivered, error) {
	status, err := n.inbox.Deliver(ctx, d)
	var refusal *webhook.Refusal
	switch {
	case err == nil && status == 0:
		return Delivered{Note: "the webhook no longer receives such events"}, nil
	case err == nil:
		return Delivered{Status: status}, nil
	case errors.As(err, &refusal):
		failure := error(&tasker.Failure{Type: "WebhookRefused", Message: fmt.Sprintf("%s: %s", d.Webhook, refusal),
			HTTPStatus: refusal.Status})
		if refusal.Permanent {
			return Delivered{}, worker.NonRetryable(failure)
		}
		return Delivered{}, worker.RetryAfter(refusal.RetryAfter, failure)
	case task.CodeOf(err) == task.NotFound:
		return Delivered{}, worker.NonRetryable(&tasker.Failure{Type: "WebhookNotFound", Message: err.Error()})
	}
	return Delivered{}, err
}
