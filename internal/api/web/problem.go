package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
)

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// ProblemKind is a code of the API and its form in HTTP.
type ProblemKind struct {
	Code    tasker.Code `json:"code"`
	Status  int         `json:"status"`
	Title   string      `json:"title"`
	Meaning string      `json:"meaning"`
	Advice  string      `json:"-"` // the advice for callers in the documentation
}

// ProblemKinds is the only table from codes to statuses. Three answers of the HTTP layer keep a well-known status under
// another code: 405 and 415 are invalid, 408 is unavailable.
func ProblemKinds() []ProblemKind {
	return []ProblemKind{
		{tasker.CodeInvalid, http.StatusBadRequest, "Invalid request", "The request is invalid; nothing was stored.",
			"Correct the request: `errors` names each place."},
		{tasker.CodeTooLarge, http.StatusRequestEntityTooLarge, "Too large",
			"A body, payload, batch or page is over its limit.",
			"Send less at once, or store large results with `blobs.url`."},
		{tasker.CodeUnauthenticated, http.StatusUnauthorized, "Not authenticated", "The API key is missing or unknown.",
			"Send a key: `Authorization: Bearer KEY` or `TASKER_API_KEY`."},
		{tasker.CodeForbidden, http.StatusForbidden, "Forbidden",
			"The API key lacks the permission, or is limited to other namespaces.",
			"Use a key with the permission that the message names."},
		{tasker.CodeNotFound, http.StatusNotFound, "Not found",
			"There is no such task, step, case, template, worker or route.",
			"Check the ID, and the namespaces of the key. It may be past its retention."},
		{tasker.CodeConflict, http.StatusConflict, "Conflict", "The thing exists with other content.",
			"Read it, and choose another name, version or idempotency key."},
		{tasker.CodeWrongState, http.StatusConflict, "Wrong state", "The act is not allowed in the state the thing is in.",
			"Read the state; somebody may have acted before you."},
		{tasker.CodeStaleToken, http.StatusConflict, "Stale token",
			"The lease was lost: another worker holds the step, or it is settled.",
			"Stop the attempt. Its result does not count."},
		{tasker.CodeExhausted, http.StatusTooManyRequests, "Exhausted",
			"A limit of the server is reached; try again after Retry-After seconds.",
			"Wait, then repeat the request."},
		{tasker.CodeUnavailable, http.StatusServiceUnavailable, "Unavailable",
			"The store does not answer, or the server is stopping; try again after Retry-After seconds.",
			"Wait, then repeat the request; an idempotency key makes that safe."},
		{tasker.CodeInternal, http.StatusInternalServerError, "Internal error",
			"An internal error. The log of the server has the details under the request ID.",
			"Report it with the lines of the log."},
	}
}

func kindFor(code tasker.Code) ProblemKind {
	kinds := ProblemKinds()
	for _, kind := range kinds {
		if kind.Code == code {
			return kind
		}
	}
	return kinds[len(kinds)-1]
}

// StatusOf returns the HTTP status of a code.
func StatusOf(code tasker.Code) int { return kindFor(code).Status }

// Problem is the body of every error, application/problem+json of RFC 9457.
type Problem struct {
	Type   string          `json:"type" doc:"Reference to the explanation of the code, relative to the server."`
	Title  string          `json:"title" doc:"The code in words; the same for every problem of the code."`
	Status int             `json:"status" doc:"The HTTP status."`
	Detail string          `json:"detail" doc:"Explanation of this problem, in one sentence."`
	Code   tasker.Code     `json:"code" doc:"Error code for programs."`
	Hint   string          `json:"hint,omitempty" doc:"Suggested fix."`
	Errors []tasker.Detail `json:"errors,omitempty" doc:"One entry per problem with its location, at most 50 per body."`

	retryAfter time.Duration
}

const retryAfter = time.Second

// newProblem shows only a *tasker.Error; the text of another may hold internal detail.
func newProblem(err error) *Problem {
	var e *tasker.Error
	switch {
	case errors.As(err, &e) && e.Code != tasker.CodeInternal:
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e = tasker.Errorf(tasker.CodeUnavailable, "the request was given up before it was answered")
	default:
		e = &tasker.Error{Code: tasker.CodeInternal, Message: "something went wrong in the server",
			Hint: "look for the request id in the server's log"}
	}
	kind := kindFor(e.Code)
	p := &Problem{
		Type: "/docs#" + string(kind.Code), Title: kind.Title, Status: kind.Status, Code: kind.Code,
		Detail: e.Message, Hint: e.Hint, Errors: e.Details, retryAfter: e.RetryAfter,
	}
	if p.retryAfter <= 0 && (kind.Code == tasker.CodeExhausted || kind.Code == tasker.CodeUnavailable) {
		p.retryAfter = retryAfter
	}
	return p
}

// StatusError is a refusal with an HTTP status and no code of the API.
type StatusError struct {
	Status int
	Err    *tasker.Error
}

func (e *StatusError) Error() string { return e.Err.Error() }
func (e *StatusError) Unwrap() error { return e.Err }

// ProblemOf describes an error to the caller, with the status of a StatusError.
func ProblemOf(err error) *Problem {
	p := newProblem(err)
	var protocol *StatusError
	if errors.As(err, &protocol) {
		p.Status, p.Title = protocol.Status, http.StatusText(protocol.Status)
	}
	return p
}

// Refuse responds with the problem of err. It logs internal detail, with the operation and the request ID that the
// caller receives.
func (f *Front) Refuse(w http.ResponseWriter, r *http.Request, operation string, err error) {
	p := ProblemOf(err)
	if p.Code == tasker.CodeInternal {
		f.log.ErrorContext(r.Context(), "request failed", slog.String("operation", operation),
			slog.String("request_id", w.Header().Get(requestIDHeader)), slog.Any("error", err))
	}
	header := w.Header()
	if p.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="tasker"`)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // people read problems in terminals: a -> b
	_ = encoder.Encode(p)        // strings and numbers: cannot fail
	header.Set("Content-Type", ProblemType)
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body.Bytes()) // the client may have disconnected
}
