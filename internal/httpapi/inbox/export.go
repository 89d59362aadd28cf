package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/web"
)

const (
	linesType = "application/x-ndjson"
	linesDoc  = "JSON lines: one Letter a line, whole. The connection is cut if the export cannot be completed."
	// lineTimeout bounds a client's time to receive a letter.
	lineTimeout = 30 * time.Second
	// maxExports bounds the exports that run at a time: each holds a connection of the database most of the time.
	maxExports = 4
)

// exportFilter is a deadletters.LetterFilter as a query, without a page: an export has none.
type exportFilter struct {
	LetterQuery
}

// exportRoute adds the route of the export. It is a stream, which huma would buffer: AddStream leaves the sending to
// export.
func (f *family) exportRoute(e endpoint.Endpoint) {
	endpoint.AddStream[deadletters.Letter](f.api, e, linesType, linesDoc, f.export)
}

// export sends letters as it reads them, so that an export of any size needs memory for one letter. A refusal before
// the first letter is a problem as in any other operation. After it an error can only be shown by cutting the
// connection: a client must not take a part for the whole.
func (f *family) export(ctx context.Context, hc huma.Context, params *exportFilter) {
	if f.backend == nil {
		f.api.Refuse(hc, endpoint.NoLetters())
		return
	}
	selection, err := params.selection(ctx)
	if err != nil {
		f.api.Refuse(hc, err)
		return
	}
	select {
	case f.exports <- struct{}{}:
		defer func() { <-f.exports }()
	default:
		f.api.Refuse(hc, &tasker.Error{Code: tasker.CodeExhausted,
			Message: "as many exports are running as may run at a time",
			Hint:    "try again when one of them has ended", RetryAfter: time.Second})
		return
	}
	if err := f.api.NoteStream(ctx, "export-dead-letters", hc.URL().Path); err != nil {
		f.api.Refuse(hc, err)
		return
	}
	patient, _, cancel := web.Patient(ctx) // a server that stops does not wait for an export
	defer cancel()
	w := lineWriter{hc: hc}
	for letter, err := range f.backend.ExportLetters(patient, deadletters.LetterFilter{Selection: selection}) {
		var shown any
		if err == nil {
			shown, err = f.api.Hide(ctx, letter)
		}
		if err == nil {
			err = w.write(letter.LetterUUID, shown)
		}
		if err != nil && !w.begun {
			f.api.Refuse(hc, err)
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	// An export of nothing is still an answer: 200 with an empty body.
	w.begin()
}

// lineWriter writes JSON lines to one client. begun tells whether the status is sent, after which nothing can be
// refused.
type lineWriter struct {
	hc    huma.Context
	begun bool
}

// begin sends the status and the headers, once. After it a fault can only be told by cutting the connection: the status
// has been sent.
func (w *lineWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.hc.SetHeader("Content-Type", linesType)
	w.hc.SetHeader("X-Accel-Buffering", "no") // keeps proxies from buffering
	w.hc.SetStatus(http.StatusOK)
}

// write sends one letter, and waits until the client's machine has taken it or lineTimeout is over. The time limit is
// for each line, because the whole export has none.
func (w *lineWriter) write(id uuid.UUID, letter any) error {
	line, err := json.Marshal(letter)
	if err != nil {
		return fmt.Errorf("encode letter %s: %w", id, err)
	}
	w.begin()
	_, rw := humago.Unwrap(w.hc)
	// a test may have none to set
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(lineTimeout))
	_, err = w.hc.BodyWriter().Write(append(line, '\n'))
	return err
}
