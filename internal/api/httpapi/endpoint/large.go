package endpoint

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/taskerhq/tasker/internal/api/web"
)

const maxUpload = 1 << 30

// AddUpload registers an operation whose handler receives the body, a JSON document of any size, part by part. Nothing
// is kept in memory. The key is checked first.
func AddUpload[R, P any](a *API, e Endpoint, description string,
	h func(ctx context.Context, params *P, receive func(to io.Writer) error) (R, error),
) {
	op := e.operation()
	op.Responses = responsesOf[R](a, e, true)
	op.Middlewares = huma.Middlewares{a.guard(e, nil, false)}
	huma.Register(a.huma, op, func(ctx context.Context, params *P) (*reply, error) {
		return &reply{Body: func(hc huma.Context) {
			r, w := humago.Unwrap(hc)
			name, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
			if err != nil || name != jsonType {
				a.Refuse(hc, unsupported("the body's type is %q, not %s", r.Header.Get("Content-Type"), jsonType))
				return
			}
			result, err := h(ctx, params, func(to io.Writer) error { return a.front.StreamBody(to, w, r, maxUpload) })
			if err != nil {
				a.Refuse(hc, err)
				return
			}
			a.send(hc, http.StatusOK, "", result, nil)
		}}, nil
	})
	documented := operationOf(a.huma.OpenAPI().Paths[e.path], e.method)
	documented.RequestBody = &huma.RequestBody{Required: true, Description: description,
		Content: map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{}}}}
	a.declare(e)
}

// AddDownload registers an operation that answers with a JSON document of any size from open. Nothing is kept in
// memory. It cuts the connection if it cannot send the document to its end.
func AddDownload[P any](a *API, e Endpoint, description string,
	open func(ctx context.Context, params *P) (io.ReadCloser, error),
) {
	AddStream[Nothing](a, e, jsonType, description, func(ctx context.Context, hc huma.Context, params *P) {
		patient, _, cancel := web.Patient(ctx) // a stopping server does not wait for the end
		defer cancel()
		content, err := open(patient, params)
		if err != nil {
			a.Refuse(hc, err)
			return
		}
		defer content.Close()
		hc.SetHeader("Content-Type", jsonType)
		hc.SetStatus(http.StatusOK)
		_, w := humago.Unwrap(hc)
		piece := make([]byte, answerPiece)
		for {
			n, err := io.ReadFull(content, piece)
			ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
			if err != nil && !ended {
				panic(http.ErrAbortHandler)
			}
			// A client that stops reading must not hold the connection for long. This fails in tests without a deadline
			// to set.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerSilence))
			if _, err := hc.BodyWriter().Write(piece[:n]); err != nil {
				panic(http.ErrAbortHandler)
			}
			if ended {
				return
			}
		}
	})
}
