package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// Answer is a handler's result. Location is the URL of a new object, "" for none.
type Answer[R any] struct {
	Status   int
	Location string
	Body     R
}

// Stored answers 201 with a Location for a new object, else 200.
func Stored[R any](isNew bool, location string, body R) Answer[R] {
	if isNew {
		return Answer[R]{http.StatusCreated, location, body}
	}
	return Answer[R]{http.StatusOK, "", body}
}

// List returns a list that is [] in JSON when empty, never null.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// Listed is List for the answer of a call.
func Listed[T any](items []T, err error) ([]T, error) { return List(items), err }

// Results is the body of answers with one entry per item, in order.
type Results[T any] struct {
	Results []T `json:"results"`
}

// ResultsOf returns Results of items.
func ResultsOf[T any](items []T) Results[T] { return Results[T]{List(items)} }

// Bounds of sending a large answer: the client must take each piece in time.
const (
	answerPiece   = 64 << 10 // bytes
	answerSilence = 20 * time.Second
)

func (a *API) send(hc huma.Context, status int, location string, v any, etag []int) {
	out := &answerWriter{hc: hc, status: status, location: location, etag: etagOf(v, etag)}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil && !out.begun {
		a.Refuse(hc, fmt.Errorf("encode answer to %s: %w", hc.Operation().OperationID, err))
	}
}

// answerWriter sends the output of an encoder. The encoder writes once, after encoding everything: there is one copy of
// an answer, of known length.
type answerWriter struct {
	hc       huma.Context
	status   int
	location string
	etag     string
	begun    bool
}

func (w *answerWriter) Write(body []byte) (int, error) {
	w.begun = true
	if w.location != "" {
		w.hc.SetHeader("Location", w.location)
	}
	if w.etag != "" {
		w.hc.SetHeader("ETag", w.etag)
	}
	write(w.hc, w.status, jsonType, body)
	return len(body), nil
}

// Refuse answers with the problem of err: its code selects the status. An error without a code is internal: Refuse logs
// it and does not send its text. Call it before anything is sent.
func (a *API) Refuse(hc huma.Context, err error) {
	r, w := humago.Unwrap(hc)
	a.front.Refuse(w, r, hc.Operation().OperationID, err)
}

// write sends a large body in pieces with a time limit for each, so that the limit does not depend on the size.
func write(hc huma.Context, status int, contentType string, body []byte) {
	hc.SetHeader("Content-Type", contentType)
	hc.SetHeader("Content-Length", strconv.Itoa(len(body)))
	hc.SetStatus(status)
	_, w := humago.Unwrap(hc)
	for len(body) > answerPiece { // a client that stops reading must not hold the connection for long
		// fails in tests without a deadline to set
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerSilence))
		if _, err := hc.BodyWriter().Write(body[:answerPiece]); err != nil {
			return
		}
		body = body[answerPiece:]
	}
	_, _ = hc.BodyWriter().Write(body) // the client may have left
}

// translate turns huma's refusals of parameters into problems of this API; request.SetStatus sets the status.
func translate(_ huma.Context, _ string, v any) (any, error) {
	model, ours := v.(*huma.ErrorModel)
	if !ours {
		return v, nil
	}
	e := tasker.Errorf(tasker.CodeInvalid, "the parameters break %s", wording.Count(len(model.Errors), "rule"))
	for _, detail := range model.Errors {
		e.Details = append(e.Details, tasker.Detail{Location: detail.Location, Message: detail.Message})
	}
	return web.ProblemOf(e), nil
}
