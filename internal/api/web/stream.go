package web

import (
	"io"
	"net/http"
	"time"
)

const streamTimeout = 10 * time.Minute

// StreamBody copies the body of a request to a writer, within limit bytes and time bounds. The budget of bodies does
// not count it: nothing stays in memory. It returns an error of the writer unchanged; others are those of ReadBody.
func (f *Front) StreamBody(to io.Writer, w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	body := &timedBody{Reader: http.MaxBytesReader(Underneath(w), r.Body, limit), w: w, end: time.Now().Add(streamTimeout)}
	defer body.done()
	in := &faulty{r: body}
	_, err := io.Copy(to, in)
	if in.err != nil {
		return bodyFault(in.err, limit)
	}
	return err
}

// faulty remembers the error of a reader, to distinguish it from one of a writer.
type faulty struct {
	r   io.Reader
	err error
}

func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}
