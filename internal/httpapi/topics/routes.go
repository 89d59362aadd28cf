package topics

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

type family struct{ backend deadletters.TopicBackend } // nil: none

// Routes adds the routes of the family to an API. Without a backend they answer unavailable.
func Routes(api *endpoint.API, backend deadletters.TopicBackend) {
	f := &family{backend}
	may := func(p ...access.Permission) []access.Permission { return p }
	get, post, del := endpoint.Get, endpoint.Post, endpoint.Delete
	read := may(access.DeadLettersRead)
	const conflicts, finds = endpoint.Conflicts, endpoint.Finds

	add(api, f, get("/api/v1/dlq/stats", "get-dead-message-stats",
		"Count dead letters by status, topic and type of event", read, 0), f.stats)
	add(api, f, get("/api/v1/dlq/messages", "list-dead-messages", "List dead letters as messages, newest first", read, 0),
		f.messages)
	add(api, f, get("/api/v1/dlq/messages/{event_id}", "get-dead-message", "Get a dead letter by the ID of its message",
		read, conflicts), f.message)
	add(api, f, get("/api/v1/dlq/topics", "list-dead-topics", "Summarise dead letters by original topic", read, 0),
		f.topics)
	add(api, f, post("/api/v1/dlq/retry", "retry-dead-messages", "Send dead letters back, with a result for each",
		may(access.DeadLettersRedrive), 0), f.retry)
	add(api, f, post("/api/v1/dlq/retry-policy", "set-retry-policy", "Set the policy of an original topic",
		may(access.SourcesAdmin), conflicts|finds), f.savePolicy)
	add(api, f, del("/api/v1/dlq/messages/{event_id}", "discard-dead-message",
		"Discard a dead letter by the ID of its message", may(access.DeadLettersDiscard), conflicts), f.discard)
}

func add[P, B, R any](api *endpoint.API, f *family, e endpoint.Endpoint,
	h func(ctx context.Context, params *P, body *B) (R, error),
) {
	endpoint.AddLetters(api, f.backend != nil, e, h)
}
