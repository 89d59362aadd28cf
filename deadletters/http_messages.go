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

// inNamespace are the parameters that name a namespace.
func inNamespace(name string) query.Values {
	q := query.Values{}
	q.Set("namespace", name)
	return q
}

// Stats implements TopicBackend.
func (s topicServer) Stats(ctx context.Context, namespace string) (*MessageStats, error) {
	return fetch[MessageStats](ctx, s.server, "count messages", topicsPath+"/stats", inNamespace(namespace))
}

// Topics implements TopicBackend.
func (s topicServer) Topics(ctx context.Context, namespace string) ([]DeadTopic, error) {
	list, err := fetch[[]DeadTopic](ctx, s.server, "list topics", topicsPath+"/topics", inNamespace(namespace))
	if err != nil {
		return nil, err
	}
	return *list, nil
}

// Messages implements TopicBackend.
func (s topicServer) Messages(ctx context.Context, f MessageFilter) (*MessagePage, error) {
	q := inNamespace(f.Namespace)
	q.Set("topic", f.Topic)
	q.Set("event_type", f.EventType)
	q.Set("status", string(f.Status))
	q.SetInt("limit", f.Limit)
	q.SetInt("offset", f.Offset)
	return fetch[MessagePage](ctx, s.server, "list messages", topicsPath+"/messages", q)
}

// messageAt returns path and parameters of a message.
func messageAt(name MessageName) (string, query.Values, error) {
	path, err := named(topicsPath+"/messages", name.EventID)
	q := inNamespace(name.Namespace)
	q.Set("source", name.Source)
	return path, q, err
}

// Message implements TopicBackend.
func (s topicServer) Message(ctx context.Context, name MessageName) (*DeadMessage, error) {
	path, q, err := messageAt(name)
	if err != nil {
		return nil, err
	}
	return fetch[DeadMessage](ctx, s.server, "get message", path, q)
}

// Retry implements TopicBackend.
func (s topicServer) Retry(ctx context.Context, req MessageRetry) (*MessageRetryAnswer, error) {
	return send[MessageRetryAnswer](ctx, s.server, "retry messages", http.MethodPost, topicsPath+"/retry", req)
}

// Discard implements TopicBackend.
func (s topicServer) Discard(ctx context.Context, name MessageName, act Act) (*MessageDone, error) {
	path, q, err := messageAt(name)
	if err != nil {
		return nil, err
	}
	q.Set("actor", act.Actor)
	q.Set("reason", act.Reason)
	out := new(MessageDone)
	r := tasker.Request{Verb: "discard message", Method: http.MethodDelete, Path: path, Query: url.Values(q)}
	if err := s.client.Call(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// SavePolicy implements TopicBackend.
func (s topicServer) SavePolicy(ctx context.Context, policy TopicPolicy) (*MessageDone, error) {
	return send[MessageDone](ctx, s.server, "set policy of topic", http.MethodPost, topicsPath+"/retry-policy", policy)
}
