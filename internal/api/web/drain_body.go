package web

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Bounds of the rest of a body that no handler reads.
const (
	// lingerSilence is how long such a body may stay silent.
	lingerSilence = time.Second
	// lingerTimeout bounds the time for all of it.
	lingerTimeout = 15 * time.Second
	// lingerBytes bounds its size. It is larger than any body that is accepted.
	lingerBytes = 64 << 20
)

// requestBody is the body of a request; it records whether it was read to its end.
type requestBody struct {
	io.ReadCloser
	ended bool
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
	}
	return n, err
}

// follow returns a copy of the request with a watched body: net/http needs its own request unchanged.
func (w *recorder) follow(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	w.body.ReadCloser = r.Body
	followed := *r
	followed.Body = &w.body
	return &followed
}

// leaveBody lets a response go out before the body has arrived. net/http would first read up to 256 KiB of
// it, for as long as the client takes. The connection cannot be reused afterwards.
func (w *recorder) leaveBody() {
	if w.body.ReadCloser == nil || w.body.ended {
		return
	}
	w.left = true
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w.ResponseWriter).EnableFullDuplex() // a test recorder has no connection
}

// drainBody reads and drops the rest of a body that was answered early. Many clients read no response before
// they have sent everything: if the connection closed at once, they would see a broken pipe instead of their
// 413.
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
