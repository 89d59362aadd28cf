package deadletters

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/query"
)

func (s server) Report(ctx context.Context, req ReportRequest) ([]Receipt, error) {
	out, err := send[lists](ctx, s, "report dead letters", http.MethodPost, "/v1/dead-letters", req)
	if err != nil {
		return nil, err
	}
	return out.Results, nil
}

func (s server) Letters(ctx context.Context, f LetterFilter) (*LetterPage, error) {
	q := f.query()
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[LetterPage](ctx, s, "list dead letters", "/v1/dead-letters", q)
}

func (s server) Letter(ctx context.Context, id uuid.UUID) (*LetterStory, error) {
	return fetch[LetterStory](ctx, s, "get dead letter", letterPath(id), nil)
}

func (s server) ExplainLetter(ctx context.Context, id uuid.UUID) (*StateExplanation, error) {
	return fetch[StateExplanation](ctx, s, "explain dead letter", letterPath(id)+"/explain", nil)
}

func letterPath(id uuid.UUID) string { return "/v1/dead-letters/" + id.String() }

func (s server) EditLetter(ctx context.Context, id uuid.UUID, edit LetterEdit) (*Letter, error) {
	return send[Letter](ctx, s, "edit dead letter", http.MethodPatch, letterPath(id), edit)
}

func (s server) DiscardLetter(ctx context.Context, id uuid.UUID, act Act) (*Letter, error) {
	return send[Letter](ctx, s, "discard dead letter", http.MethodPost, letterPath(id)+"/discard", act)
}

func (s server) RestoreLetter(ctx context.Context, id uuid.UUID, act Act) (*Letter, error) {
	return send[Letter](ctx, s, "restore dead letter", http.MethodPost, letterPath(id)+"/restore", act)
}

// maxLine bounds one line of an export, so that a wrong server cannot fill the memory.
const maxLine = 64 << 20

// ExportLetters implements LetterBackend. The server sends a letter a line; it is never held whole.
func (s server) ExportLetters(ctx context.Context, f LetterFilter) iter.Seq2[*Letter, error] {
	const verb = "export dead letters"
	return func(yield func(*Letter, error) bool) {
		body, err := s.client.Stream(ctx, tasker.Request{Verb: verb, Method: http.MethodGet,
			Path: "/v1/dead-letters/export", Query: url.Values(f.query())}, "application/x-ndjson")
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			letter := new(Letter)
			if err := json.Unmarshal(lines.Bytes(), letter); err != nil {
				yield(nil, exportError(verb, err))
				return
			}
			if !yield(letter, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, exportError(verb, err))
		}
	}
}

// exportError explains why an export ended early. The server cuts the connection when it cannot go on.
func exportError(verb string, err error) error {
	e := tasker.Errorf(tasker.CodeUnavailable, "%s: the export broke off: %v", verb, err)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message = verb + ": the export broke off"
	}
	e.Hint = "what was read so far is not the whole selection; start again"
	e.Err = err
	return e
}

func (f *LetterFilter) query() query.Values {
	q := inNamespace(f.Namespace)
	q.Set("source", f.Source)
	q.Set("origin", f.Origin)
	q.Set("state", string(f.State))
	q.Set("error_type", f.ErrorType)
	q.Set("text", f.Text)
	q.Set("header_name", f.HeaderName)
	q.Set("header_value", f.HeaderValue)
	q.SetTime("after", f.After)
	q.SetTime("before", f.Before)
	q.SetInt("min_replays", f.MinReplays)
	if f.Parked != nil {
		q.Set("parked", strconv.FormatBool(*f.Parked))
	}
	for _, group := range f.Groups {
		q.Add("group_id", group)
	}
	for _, id := range f.IDs {
		q.Add("letter_uuid", id.String())
	}
	return q
}
