package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/kit/outbound"
)

// sender sends spans by OTLP over HTTP. OpenTelemetry's client would link gRPC, about 8 MB of unused code.
type sender struct {
	url    string
	client *http.Client
	pause  time.Duration // before the first retry; it doubles
}

var _ otlptrace.Client = (*sender)(nil)

const (
	// sendTimeout bounds one request; the batcher bounds all of them to 30 s.
	sendTimeout = 10 * time.Second
	// answerBytes bounds the read of an answer, which lets the connection be reused.
	answerBytes = 64 << 10
)

// newSender does not connect: a collector that is down must not keep a server from starting.
func newSender(endpoint string, pause time.Duration) (*sender, error) {
	u, err := ParseEndpoint(endpoint)
	if err != nil {
		return nil, fmt.Errorf("OTLP endpoint: %w", err)
	}
	return &sender{url: u.String(), pause: pause,
		client: &http.Client{Transport: outbound.Transport(1), Timeout: sendTimeout}}, nil
}

// ParseEndpoint parses an http or https URL of an OTLP endpoint. The path defaults to /v1/traces. The error does
// not repeat the text, which may contain a password.
func ParseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("must be a URL such as http://localhost:4318")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u, nil
}

func (*sender) Start(context.Context) error { return nil }

func (s *sender) Stop(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}

// UploadTraces retries temporary errors until ctx ends, with a doubling pause or the one that the endpoint
// requests. The batcher calls it in its own goroutine.
func (s *sender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := encode(spans)
	if err != nil {
		return err
	}
	for pause := s.pause; ; pause *= 2 {
		again, after, err := s.send(ctx, body)
		if err == nil || !again {
			return err
		}
		if ended := clock.Sleep(ctx, max(pause, after)); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// encode returns the compressed body. TracesData has the wire format of ExportTraceServiceRequest, whose package
// imports gRPC.
func encode(spans []*tracepb.ResourceSpans) ([]byte, error) {
	raw, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return nil, fmt.Errorf("encode spans: %w", err)
	}
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	_, err = zip.Write(raw)
	if err = errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	return body.Bytes(), nil
}

// send makes one request. For an error it returns whether a retry may help, and the requested wait, at most a
// minute. The statuses to retry are those of the OTLP specification.
func (s *sender) send(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, fmt.Errorf("send spans: %w", redacted(err))
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := s.client.Do(req)
	if err != nil {
		return ctx.Err() == nil, 0, fmt.Errorf("send spans: %w", redacted(err))
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, answerBytes)) // only the status matters
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			after = time.Duration(min(seconds, 60)) * time.Second
		}
	}
	return again, after, fmt.Errorf("send spans: the OTLP endpoint answered %s", resp.Status)
}

// redacted removes the URL, which may contain a password.
func redacted(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
