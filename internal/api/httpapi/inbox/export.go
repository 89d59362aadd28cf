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
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/web"
)

const (
	linesType = "application/x-ndjson"
	linesDoc  = "JSON lines: one Letter a line, whole. The connection is cut if the export cannot be completed."
	// lineTimeout bounds a client's time to receive a letter.
	lineTimeout = 30 * time.Second
	// maxExports bounds concurrent exports: each holds a connection of the database most of the time.
	maxExports = 4
)

// export streams letters, so it needs memory for one. A refusal before the first letter is a problem as usual. A later
// error cuts the connection: a client must not take a part for the whole.
func (f *family) export(ctx context.Context, hc huma.Context, params *LetterQuery) {
	w := lineWriter{hc: hc}
	err := f.exportTo(ctx, &w, params)
	switch {
	case err == nil:
		w.begin() // an empty export is 200 with an empty body
	case w.begun:
		panic(http.ErrAbortHandler)
	default:
		f.api.Refuse(hc, err)
	}
}

func (f *family) exportTo(ctx context.Context, w *lineWriter, params *LetterQuery) error {
	if f.backend == nil {
		return endpoint.NoLetters()
	}
	selection, err := params.selection(ctx)
	if err != nil {
		return err
	}
	select {
	case f.exports <- struct{}{}:
		defer func() { <-f.exports }()
	default:
		return &tasker.Error{Code: tasker.CodeExhausted, Message: "as many exports are running as may run at a time",
			Hint: "try again when one of them has ended", RetryAfter: time.Second}
	}
	if err := f.api.NoteStream(ctx, "export-dead-letters", w.hc.URL().Path); err != nil {
		return err
	}
	patient, _, cancel := web.Patient(ctx) // a stopping server does not wait for an export
	defer cancel()
	for letter, err := range f.backend.ExportLetters(patient, deadletters.LetterFilter{Selection: selection}) {
		if err != nil {
			return err
		}
		shown, err := f.api.Hide(ctx, letter)
		if err != nil {
			return err
		}
		if err := w.write(letter.LetterUUID, shown); err != nil {
			return err
		}
	}
	return nil
}

type lineWriter struct {
	hc    huma.Context
	begun bool // the status is sent; refusal is impossible
}

func (w *lineWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.hc.SetHeader("Content-Type", linesType)
	w.hc.SetHeader("X-Accel-Buffering", "no") // keeps proxies from buffering
	w.hc.SetStatus(http.StatusOK)
}

// write waits until the client's machine has the letter, or lineTimeout is over. The limit is per line, because the
// whole export has none.
func (w *lineWriter) write(id uuid.UUID, letter any) error {
	line, err := json.Marshal(letter)
	if err != nil {
		return fmt.Errorf("encode letter %s: %w", id, err)
	}
	w.begin()
	_, rw := humago.Unwrap(w.hc)
	// Fails in tests without a deadline to set.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(lineTimeout))
	_, err = w.hc.BodyWriter().Write(append(line, '\n'))
	return err
}
