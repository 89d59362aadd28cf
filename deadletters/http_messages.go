package deadletters

import (
	"context"
	"net/http"
	"net/url"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/query"
)

// topicServer is a TopicBackend over HTTP.
type topicServer struct{ server }

const topicsPath = "/api/v1/dlq"

func (s topicServer) Stats(ctx context.Context, namespace string) (*MessageStats, error) {
	return fetch[MessageStats](ctx, s.server, "count messages", topicsPath+"/stats", inNamespace(namespace))
}

func (s topicServer) Topics(ctx context.Context, namespace string) ([]DeadTopic, error) {
	list, err := fetch[[]DeadTopic](ctx, s.server, "list topics", topicsPath+"/topics", inNamespace(namespace))
	if err != nil {
		return nil, err
	}
	return *list, nil
}

func (s topicServer) Messages(ctx context.Context, f MessageFilter) (*MessagePage, error) {
	q := inNamespace(f.Namespace)
	q.Set("topic", f.Topic)
	q.Set("event_type", f.EventType)
	q.Set("status", string(f.Status))
	q.SetInt("limit", f.Limit)
	q.SetInt("offset", f.Offset)
	return fetch[MessagePage](ctx, s.server, "list messages", topicsPath+"/messages", q)
}

func messageAt(name MessageName) (string, query.Values) {
	q := inNamespace(name.Namespace)
	q.Set("source", name.Source)
	return named(topicsPath+"/messages", name.EventID), q
}

func (s topicServer) Message(ctx context.Context, name MessageName) (*DeadMessage, error) {
	path, q := messageAt(name)
	return fetch[DeadMessage](ctx, s.server, "get message", path, q)
}

func (s topicServer) Retry(ctx context.Context, req MessageRetry) (*MessageRetryAnswer, error) {
	return send[MessageRetryAnswer](ctx, s.server, "retry messages", http.MethodPost, topicsPath+"/retry", req)
}

func (s topicServer) Discard(ctx context.Context, name MessageName, act Act) (*MessageDone, error) {
	path, q := messageAt(name)
	q.Set("actor", act.Actor)
	q.Set("reason", act.Reason)
	return answer[MessageDone](ctx, s.server, tasker.Request{Verb: "discard message", Method: http.MethodDelete,
		Path: path, Query: url.Values(q)})
}

func (s topicServer) SavePolicy(ctx context.Context, policy TopicPolicy) (*MessageDone, error) {
	return send[MessageDone](ctx, s.server, "set policy of topic", http.MethodPost, topicsPath+"/retry-policy", policy)
}
