package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Bounds of the rest of a body that no handler reads.
const (
	// lingerSilence bounds the silence of such a body.
	lingerSilence = time.Second
	lingerTimeout = 15 * time.Second
	// lingerBytes bounds its size. It is larger than any accepted body.
	lingerBytes = 64 << 20
)

// requestBody records whether a body was read to its end.
type requestBody struct {
	io.ReadCloser
	ended bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
	}
	return n, err
}

// follow copies the request: net/http needs its own unchanged.
func (w *recorder) follow(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	w.body.ReadCloser = r.Body
	followed := *r
	followed.Body = &w.body
	return &followed
}

// leaveBody lets a response go out before the body has arrived: net/http would first read up to 256 KiB of it, however
// long that takes. The connection cannot be reused.
func (w *recorder) leaveBody() {
	if w.body.ReadCloser == nil || w.body.ended {
		return
	}
	w.left = true
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w.ResponseWriter).EnableFullDuplex() // a test recorder has no connection
}

// drainBody drops the rest of a body that was answered early. Many clients send everything before they read a response:
// if the connection closed immediately, they would see a broken pipe instead of their 413.
func (w *recorder) drainBody() {
	if !w.left {
		return
	}
	control := http.NewResponseController(w.ResponseWriter)
	if control.Flush() != nil {
		return
	}
	end := time.Now().Add(lingerTimeout)
	var dropped [2048]byte
	for size := 0; size < lingerBytes && time.Now().Before(end); {
		if control.SetReadDeadline(time.Now().Add(lingerSilence)) != nil {
			return
		}
		n, err := w.body.Read(dropped[:])
		if size += n; err != nil {
			break
		}
	}
	// net/http closes the body next, and may read to its end.
	_ = control.SetReadDeadline(time.Now())
}
