package endpoint

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker/internal/model/access"
)

// Nothing is an optional body without fields.
type Nothing struct{}

// Endpoint is an operation without its types: one line of a table of routes.
type Endpoint struct {
	method, path string
	id, summary  string
	needs        []access.Permission // one suffices; none: no key required
	traits       Trait
}

// Trait is a set of properties of an endpoint.
type Trait uint16

// The traits.
const (
	Hot          Trait = 1 << iota // called for every task: logged at level debug
	Batch                          // the body may have the size of a batch
	Creates                        // answers 201 after storing a new object
	BodyOptional                   // the body is optional
	Finds                          // searches for an object outside the path: answers 404
	Conflicts                      // depends on the state of the object: answers 409
	Limited                        // subject to a limit: answers 413 or 429
	KeyInQuery                     // accepts the API key as the parameter api_key
	Letters                        // a Batch, or one dead letter of the largest size
	Unmasked                       // refuses the mask as a sensitive value: answers 422
)

// Get returns the endpoint of a GET request. One of needs suffices; none: no key is required.
func Get(path, id, summary string, needs []access.Permission, traits Trait) Endpoint {
	return Endpoint{http.MethodGet, path, id, summary, needs, traits}
}

// Post is Get for POST.
func Post(path, id, summary string, needs []access.Permission, traits Trait) Endpoint {
	return Endpoint{http.MethodPost, path, id, summary, needs, traits}
}

// Patch is Get for PATCH.
func Patch(path, id, summary string, needs []access.Permission, traits Trait) Endpoint {
	return Endpoint{http.MethodPatch, path, id, summary, needs, traits}
}

// Delete is Get for DELETE.
func Delete(path, id, summary string, needs []access.Permission, traits Trait) Endpoint {
	return Endpoint{http.MethodDelete, path, id, summary, needs, traits}
}

func (e Endpoint) is(t Trait) bool { return e.traits&t != 0 }

func (e Endpoint) pattern() string { return e.method + " " + e.path }

// None is the type of missing parameters or of a missing body.
type None struct{}

// handler is the Go side of an operation: P is the parameters of path and query, B the body, R the answer. An error
// becomes a Problem.
type handler[P, B, R any] func(ctx context.Context, params *P, body *B) (Answer[R], error)

// Add registers an operation that answers 200 in the router and in the OpenAPI document. It panics on types that it
// cannot describe; no request can cause that. Call it before Complete.
func Add[P, B, R any](a *API, e Endpoint, h func(ctx context.Context, params *P, body *B) (R, error)) {
	AddStored(a, e, func(ctx context.Context, params *P, body *B) (Answer[R], error) {
		answer, err := h(ctx, params, body)
		return Answer[R]{Status: http.StatusOK, Body: answer}, err
	})
}

// AddStored is Add for an operation that reports whether it has created its answer: see Stored.
func AddStored[P, B, R any](a *API, e Endpoint, h handler[P, B, R]) {
	op := e.operation()
	var reader *bodyReader
	if reflect.TypeFor[B]() != reflect.TypeFor[None]() {
		reader = newBodyReader[B](a, e)
	}
	op.Responses = responsesOf[R](a, e, reader != nil)
	answers := reflect.TypeFor[R]()
	screened := a.mask != nil && a.mask.Carries(answers)
	if e.shows(answers, a.mask) {
		op.Parameters = append(op.Parameters, sensitiveParameter())
	}
	op.Middlewares = huma.Middlewares{a.guard(e, reader, e.shows(answers, a.mask))}

	request, answer := reflect.TypeFor[B](), reflect.TypeFor[R]()
	etag, pages := etagField[R](), cursorsOf(e.id, reflect.TypeFor[P](), request, answer)
	match := preconditionOf(reflect.TypeFor[P](), request)
	huma.Register(a.huma, op, func(ctx context.Context, params *P) (*reply, error) {
		body, _ := bodyFrom(ctx).(*B)
		if body == nil {
			body = new(B)
		}
		var result Answer[R]
		mark, err := pages.read(params, body)
		if err == nil {
			err = match.settle(params, body)
		}
		if err == nil {
			result, err = h(ctx, params, body)
			pages.give(&result.Body, mark)
		}
		return &reply{Body: func(hc huma.Context) {
			if err != nil {
				a.Refuse(hc, err)
				return
			}
			var shown any = result.Body
			if screened {
				if shown, err = a.Screen(ctx, e, hc.URL().Path, shown); err != nil {
					a.Refuse(hc, err)
					return
				}
			}
			a.send(hc, result.Status, result.Location, sent(shown), etag)
		}}, nil
	})

	documented := operationOf(a.huma.OpenAPI().Paths[e.path], e.method)
	// Documented afterwards: otherwise huma would read and validate the body again by its own rules.
	if reader != nil {
		documented.RequestBody = reader.document()
		a.requests = append(a.requests, reader.schema)
	}
	a.declare(e)
}

// AddStream registers an operation without a body whose handler sends the answer: a stream of R, documented with
// description. The handler refuses with API.Refuse, before it sends anything.
func AddStream[R, P any](a *API, e Endpoint, contentType, description string,
	h func(ctx context.Context, hc huma.Context, params *P),
) {
	op := e.operation()
	op.Responses = responsesOf[R](a, e, false)
	shows := e.shows(reflect.TypeFor[R](), a.mask)
	if shows {
		op.Parameters = append(op.Parameters, sensitiveParameter())
	}
	op.Middlewares = huma.Middlewares{a.guard(e, nil, shows)}
	done := op.Responses["200"]
	done.Description = description
	done.Content = map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}}
	huma.Register(a.huma, op, func(ctx context.Context, params *P) (*reply, error) {
		return &reply{Body: func(hc huma.Context) { h(ctx, hc, params) }}, nil
	})
	a.declare(e)
}

func (e Endpoint) operation() huma.Operation {
	return huma.Operation{
		Method: e.method, Path: e.path, OperationID: e.id, Summary: e.summary, Tags: []string{tagOf(e.path)},
		Description: describeNeeds(e.needs), RejectUnknownQueryParameters: true, Security: securityOf(e.needs),
	}
}

// reply lets the server write the answer: huma would send the status before the body is encoded.
type reply struct {
	Body func(huma.Context)
}

// operationOf panics on a method that no endpoint has.
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

func joinWords[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return strings.Join(out, ", ")
}

type unwrapper interface{ Unwrap() any }

func sent(body any) any {
	if w, is := body.(unwrapper); is {
		return w.Unwrap()
	}
	return body
}
