package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

type webhookList struct {
	Webhooks []deadletters.Webhook `json:"webhooks"`
}

// webhooks serves GET /v1/webhooks: those that this node was started with, without secrets and without what follows the
// host of a URL, which may be one.
func (f *family) webhooks(ctx context.Context, _ *endpoint.None, _ *endpoint.None) (*webhookList, error) {
	list, err := f.backend.Webhooks(ctx)
	return &webhookList{list}, err
}

// WebhookPath names a webhook, to embed.
type WebhookPath struct {
	Name string `path:"name" minLength:"1" maxLength:"64" doc:"The webhook."`
}

// testWebhook serves POST /v1/webhooks/{name}/test. A webhook that refuses the event or does not answer is a 200 that
// says so: the test itself has worked.
func (f *family) testWebhook(ctx context.Context, params *WebhookPath, _ *endpoint.Nothing,
) (*deadletters.WebhookAnswer, error) {
	return f.backend.TestWebhook(ctx, params.Name)
}
