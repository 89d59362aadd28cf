package web

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

func TestBodyDeadlines(t *testing.T) {
	t.Parallel()
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	body := &timedBody{Reader: iotest.OneByteReader(strings.NewReader("abc")), w: w, held: &bodyBudget{limit: 3}}
	read := func() {
		t.Helper()
		if _, err := body.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	read()
	if d := w.set[0].Sub(began); d < bodySilence || d > bodySilence+time.Minute {
		t.Errorf("the first part has %v, want about %v", d, bodySilence)
	}
	body.end = time.Now().Add(time.Second)
	read()
	if !w.set[1].Equal(body.end) {
		t.Errorf("a part has until %v, and the body until %v", w.set[1], body.end)
	}
	body.held.take(1) // another body
	if _, err := body.Read(make([]byte, 10)); !errors.Is(err, errBodiesFull) {
		t.Errorf("a byte over the limit of all bodies is read: %v", err)
	}
	body.done()
	if !w.set[len(w.set)-1].IsZero() {
		t.Error("a deadline stays behind the body")
	}
	if used := body.held.used.Load(); used != 1 {
		t.Errorf("%d bytes are counted after the body, want those of the other", used)
	}
}
