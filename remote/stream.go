package remote

import (
	"context"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/taskerhq/tasker"
)

// Stream sends a request whose response is too long to hold; see tasker.Client.
func (b *httpBackend) Stream(ctx context.Context, r tasker.Request, contentType string) (io.ReadCloser, error) {
	c := call{verb: r.Verb, method: r.Method, path: r.Path, query: r.Query}
	limited, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.ctx, cancel)
	s := &streamBody{cancel: func() { stop(); cancel() }, patience: b.opts.RequestTimeout}
	s.timer = time.AfterFunc(s.patience, cancel)
	body, err := b.beginStream(limited, c, contentType)
	if err != nil {
		s.cancel()
		s.timer.Stop()
		return nil, b.explain(ctx, c, err)
	}
	s.ReadCloser = body
	return s, nil
}

// beginStream returns the body of a successful response of the content type. The caller must close it.
func (b *httpBackend) beginStream(ctx context.Context, c call, contentType string) (io.ReadCloser, error) {
	req, err := b.newRequest(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", contentType)
	resp, err := b.http.Do(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == contentType {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, err := readLimited(resp, b.opts.MaxResponseBytes)
		if err != nil {
			return nil, err
		}
		return nil, problemError(resp, answer)
	}
	e := tasker.Errorf(tasker.CodeInternal, "%s answers with %q instead of %s", b.base, kind, contentType)
	e.Hint = "check the address: it does not look like a Tasker server"
	return nil, e
}

type streamBody struct {
	io.ReadCloser
	cancel   func()
	timer    *time.Timer // cancels the request when a Read takes too long
	patience time.Duration
}

func (s *streamBody) Read(p []byte) (int, error) {
	s.timer.Reset(s.patience)
	n, err := s.ReadCloser.Read(p)
	s.timer.Stop() // the caller may take its time between reads
	return n, err
}

func (s *streamBody) Close() error {
	s.timer.Stop()
	err := s.ReadCloser.Close()
	s.cancel()
	return err
}
