package topics

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

// NamespaceQuery names a namespace. It is exported because huma ignores unexported embedded structs.
type NamespaceQuery struct {
	Namespace string `query:"namespace" maxLength:"255" doc:"Defaults to that of the key."`
}

func (q *NamespaceQuery) namespace(ctx context.Context) (string, error) {
	return endpoint.OwnNamespace(ctx, q.Namespace, "query.namespace")
}

func (f *family) stats(ctx context.Context, params *NamespaceQuery, _ *endpoint.None) (*deadletters.MessageStats,
	error,
) {
	namespace, err := params.namespace(ctx)
	if err != nil {
		return nil, err
	}
	return f.backend.Stats(ctx, namespace)
}

func (f *family) topics(ctx context.Context, params *NamespaceQuery, _ *endpoint.None) ([]deadletters.DeadTopic,
	error,
) {
	namespace, err := params.namespace(ctx)
	if err != nil {
		return nil, err
	}
	list, err := f.backend.Topics(ctx, namespace)
	return endpoint.List(list), err
}

type messagesQuery struct {
	Status    string `query:"status" enum:"pending,scheduled,retried,discarded"`
	Topic     string `query:"topic" maxLength:"255" doc:"Original topic."`
	EventType string `query:"event_type" maxLength:"255"`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Offset    int    `query:"offset" minimum:"0" maximum:"1000000" default:"0" doc:"From the newest."`
	NamespaceQuery
}

func (f *family) messages(ctx context.Context, params *messagesQuery, _ *endpoint.None) (*deadletters.MessagePage,
	error,
) {
	namespace, err := params.namespace(ctx)
	if err != nil {
		return nil, err
	}
	return f.backend.Messages(ctx, deadletters.MessageFilter{Namespace: namespace, Topic: params.Topic,
		EventType: params.EventType, Status: deadletters.MessageStatus(params.Status), Limit: params.Limit,
		Offset: params.Offset})
}

// MessagePath names a message.
type MessagePath struct {
	EventID string `path:"event_id" maxLength:"255" doc:"The sender's ID of the message, or the UUID of the letter."`
	Source  string `query:"source" maxLength:"255" doc:"Source of the message, where messages of several have the ID."`
	NamespaceQuery
}

func (q *MessagePath) name(ctx context.Context) (deadletters.MessageName, error) {
	namespace, err := q.namespace(ctx)
	return deadletters.MessageName{Namespace: namespace, Source: q.Source, EventID: q.EventID}, err
}

func (f *family) message(ctx context.Context, params *MessagePath, _ *endpoint.None) (*deadletters.DeadMessage, error) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	return f.backend.Message(ctx, name)
}

type discardQuery struct {
	MessagePath
	Reason string `query:"reason" required:"true" minLength:"1" maxLength:"1024" doc:"Why; it is kept with the message."`
	Actor  string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
}

func (f *family) discard(ctx context.Context, params *discardQuery, _ *endpoint.None) (*deadletters.MessageDone,
	error,
) {
	name, err := params.name(ctx)
	if err != nil {
		return nil, err
	}
	return f.backend.Discard(ctx, name, deadletters.Act{Actor: params.Actor, Reason: params.Reason})
}

func (f *family) retry(ctx context.Context, _ *endpoint.None, body *deadletters.MessageRetry) (
	*deadletters.MessageRetryAnswer, error,
) {
	var err error
	if body.Namespace, err = endpoint.OwnNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return nil, err
	}
	return f.backend.Retry(ctx, *body)
}

func (f *family) savePolicy(ctx context.Context, _ *endpoint.None, body *deadletters.TopicPolicy) (
	*deadletters.MessageDone, error,
) {
	var err error
	if body.Namespace, err = endpoint.OwnNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return nil, err
	}
	return f.backend.SavePolicy(ctx, *body)
}
