// Package topics is the compatibility family /api/v1/dlq/stats, messages, topics, retry and retry-policy: dead letters
// as messages of a dead letter topic, in the words of processors of such topics. It is a view of the inbox. The JSON
// types are in package deadletters.
package topics

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

type (
	family struct{ backend deadletters.TopicBackend } // nil: none
	none   = endpoint.None
)

// Routes adds the family to an API. Without a backend its routes answer unavailable.
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

// own calls a verb. The namespace of the request defaults to the key's.
func own[A, R any](ctx context.Context, namespace *string, at string, verb func(context.Context, A) (R, error), of *A,
) (answer R, err error) {
	if *namespace, err = endpoint.OwnNamespace(ctx, *namespace, at); err != nil {
		return answer, err
	}
	return verb(ctx, *of)
}

const inQuery, inBody = "query.namespace", "/namespace"

type namespaceQuery struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Defaults to that of the key."`
}

func (f *family) stats(ctx context.Context, params *namespaceQuery, _ *none) (*deadletters.MessageStats, error) {
	return own(ctx, &params.Namespace, inQuery, f.backend.Stats, &params.Namespace)
}

func (f *family) topics(ctx context.Context, params *namespaceQuery, _ *none) ([]deadletters.DeadTopic, error) {
	return endpoint.Listed(own(ctx, &params.Namespace, inQuery, f.backend.Topics, &params.Namespace))
}

func (f *family) messages(ctx context.Context, filter *deadletters.MessageFilter, _ *none,
) (*deadletters.MessagePage, error) {
	return own(ctx, &filter.Namespace, inQuery, f.backend.Messages, filter)
}

func (f *family) message(ctx context.Context, name *deadletters.MessageName, _ *none,
) (*deadletters.DeadMessage, error) {
	return own(ctx, &name.Namespace, inQuery, f.backend.Message, name)
}

type discardQuery struct {
	deadletters.MessageName
	Reason string `query:"reason" required:"true" minLength:"1" maxLength:"1024" doc:"Why; it is kept with the message."`
	Actor  string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
}

func (f *family) discard(ctx context.Context, params *discardQuery, _ *none) (*deadletters.MessageDone, error) {
	discard := func(ctx context.Context, of deadletters.MessageName) (*deadletters.MessageDone, error) {
		return f.backend.Discard(ctx, of, deadletters.Act{Actor: params.Actor, Reason: params.Reason})
	}
	return own(ctx, &params.Namespace, inQuery, discard, &params.MessageName)
}

func (f *family) retry(ctx context.Context, _ *none, body *deadletters.MessageRetry,
) (*deadletters.MessageRetryAnswer, error) {
	return own(ctx, &body.Namespace, inBody, f.backend.Retry, body)
}

func (f *family) savePolicy(ctx context.Context, _ *none, body *deadletters.TopicPolicy,
) (*deadletters.MessageDone, error) {
	return own(ctx, &body.Namespace, inBody, f.backend.SavePolicy, body)
}
