package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
)

// Constructors of handlers that pass a request to one method of the backend. The method is an expression, such as
// deadletters.Backend.Letter, since a server without a backend has the routes, too.

type (
	handler[P, B, R any] func(ctx context.Context, params *P, body *B) (R, error)
	none                 = endpoint.None
	backend              = deadletters.Backend
)

type named[K any] interface{ key() K }

func ask[P named[K], B, K, R any](f *family, verb func(backend, context.Context, K) (R, error)) handler[P, B, R] {
	return func(ctx context.Context, params *P, _ *B) (R, error) {
		return verb(f.backend, ctx, (*params).key())
	}
}

func act[P named[K], K, B, R any](f *family, verb func(backend, context.Context, K, B) (R, error)) handler[P, B, R] {
	return func(ctx context.Context, params *P, body *B) (R, error) {
		return verb(f.backend, ctx, (*params).key(), *body)
	}
}

// list returns all objects of a namespace, which has few.
func list[T, R any](f *family, verb func(backend, context.Context, string) ([]T, error), body func([]T) R,
) handler[namespaceQuery, none, R] {
	return func(ctx context.Context, params *namespaceQuery, _ *none) (R, error) {
		namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
		if err != nil {
			return body(nil), err
		}
		found, err := verb(f.backend, ctx, namespace)
		return body(endpoint.List(found)), err
	}
}

type namespaceQuery struct {
	Namespace string `query:"namespace" maxLength:"255"`
}

// ActQuery has an act's actor, reason and precondition, for requests without a body: many proxies drop the body of a
// DELETE.
type ActQuery struct {
	Actor      string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason     string `query:"reason" maxLength:"1024" doc:"Reason of the act."`
	GivenMatch string `query:"if_match" maxLength:"1024" doc:"Same as the header If-Match."`
	endpoint.Match
}

func (q *ActQuery) act() deadletters.Act {
	return deadletters.Act{Actor: q.Actor, Reason: q.Reason, IfMatch: q.IfMatch}
}

type removal struct {
	Removed bool `json:"removed"`
}
