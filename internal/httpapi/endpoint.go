package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker/internal/access"
)

// endpoint is one line of routes.go: an operation without its types.
type endpoint struct {
	method, path string
	id, summary  string
	needs        []access.Permission // one of them suffices; none: no key required
	traits       trait
}

// trait is a set of properties of an endpoint.
type trait uint16

const (
	hot       trait = 1 << iota // called for every task: logged at level debug
	batch                       // the body may have the size of a batch
	creates                     // answers 201 after storing a new object
	bare                        // the body is optional
	finds                       // searches for an object outside the path: answers 404
	conflicts                   // depends on the state of the object: answers 409
	limited                     // subject to a limit: answers 413 or 429
)

func (e endpoint) is(t trait) bool { return e.traits&t != 0 }

// pattern returns the endpoint's pattern for http.ServeMux.
func (e endpoint) pattern() string { return e.method + " " + e.path }

// none is the type of missing parameters or of a missing body.
type none struct{}

// handler is the Go side of an operation: P holds the parameters of path and
// query, B the body, R the answer. An error becomes a Problem.
type handler[P, B, R any] func(ctx context.Context, params *P, body *B) (answer[R], error)

// add registers an operation: in the router and, derived from the same types,
// in the OpenAPI document.
func add[P, B, R any](s *server, e endpoint, h handler[P, B, R]) {
	op := huma.Operation{
		Method: e.method, Path: e.path, OperationID: e.id, Summary: e.summary,
		Tags: []string{tagOf(e.path)}, Description: describeNeeds(e.needs),
		RejectUnknownQueryParameters: true,
		Security:                     securityOf(e.needs),
	}
	var reader *bodyReader
	if reflect.TypeFor[B]() != reflect.TypeFor[none]() {
		reader = newBodyReader[B](s, e)
	}
	op.Responses = responsesOf[R](s, e, reader != nil)
	op.Middlewares = huma.Middlewares{s.guard(e, reader)}

	huma.Register(s.api, op, func(ctx context.Context, params *P) (*reply, error) {
		body, _ := bodyFrom(ctx).(*B)
		if body == nil {
			body = new(B)
		}
		result, err := h(ctx, params, body)
		return &reply{Body: func(hc huma.Context) {
			if err != nil {
				s.refuse(hc, err)
				return
			}
			s.send(hc, result.status, result.location, sent(result.body))
		}}, nil
	})

	documented := operationOf(s.api.OpenAPI().Paths[e.path], e.method)
	// The body is documented afterwards: otherwise huma would read and validate it a second time by its own rules.
	if reader != nil {
		documented.RequestBody = reader.document()
		s.requests = append(s.requests, reader.schema)
	}
	s.declare(e)
}

// reply gives the writing of the answer back to the server: huma would send the status before it knows whether the body
// can be encoded.
type reply struct {
	Body func(huma.Context)
}

func operationOf(item *huma.PathItem, method string) *huma.Operation {
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPost:
		return item.Post
	case http.MethodPatch:
		return item.Patch
	case http.MethodDelete:
		return item.Delete
	}
	panic("httpapi: no operation has method " + method)
}

// tagOf groups the operations in the document by the noun of their path.
func tagOf(path string) string {
	if strings.HasPrefix(path, "/api/v1/") && !strings.Contains(path, "/dlq") {
		return "queue"
	}
	for _, noun := range []string{"audit", "dlq", "workflow_steps", "templates", "workers", "tasks", "events", "health"} {
		if strings.Contains(path, "/"+noun) {
			return noun
		}
	}
	return "server"
}

func joinWords[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return strings.Join(out, ", ")
}
