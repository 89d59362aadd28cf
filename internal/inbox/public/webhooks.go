package public

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
)

func (b *backend) Webhooks(ctx context.Context) ([]deadletters.Webhook, error) {
	out := []deadletters.Webhook{}
	for _, to := range b.inbox.Endpoints(ctx) {
		events := to.Events
		if len(events) == 0 {
			events = deadletter.DefaultHookTypes
		}
		shown := deadletters.Webhook{Name: to.Name, URL: to.Shown(), Namespaces: to.Namespaces, Secrets: len(to.Secrets)}
		for _, e := range events {
			shown.Events = append(shown.Events, deadletters.WebhookType(e))
		}
		out = append(out, shown)
	}
	return out, nil
}

func (b *backend) TestWebhook(ctx context.Context, name string) (*deadletters.WebhookAnswer, error) {
	test, err := b.inbox.TestWebhook(ctx, name)
	if err != nil {
		return nil, shownError(err)
	}
	return &deadletters.WebhookAnswer{Name: name, MessageID: test.MessageID, Delivered: test.Error == "",
		Status: test.Status, Seconds: test.Took.Seconds(), Error: test.Error}, nil
}
