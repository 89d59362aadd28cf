package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/kit/outbound"
)

const (
	requestTime = 10 * time.Second
	// drained bounds the bytes read of an answer, so that its connection can be reused.
	drained       = 64 << 10
	maxRetryAfter = 24 * time.Hour
)

// Message is the content of a request.
type Message struct {
	// ID is the same in every attempt to deliver the message.
	ID string
	// At is the time of the attempt: receivers refuse old ones.
	At      time.Time
	Payload []byte
}

// Refusal is an answer other than 2xx, or none. Its text has no URL.
type Refusal struct {
	Status int // 0: no answer
	// Permanent: the same message would be refused again.
	Permanent bool
	// RetryAfter is the pause that the endpoint requested; 0 for none.
	RetryAfter time.Duration
	why        string
}

func (r *Refusal) Error() string { return r.why }

// Sender sends messages. It follows no redirects. It is safe for concurrent use.
type Sender struct{ client *http.Client }

// NewSender returns a Sender. It connects when it sends.
func NewSender() *Sender {
	return &Sender{client: &http.Client{
		Transport:     outbound.Transport(2),
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (s *Sender) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Send sends a message and returns the status of the answer, 0 without one. The error is nil if the endpoint accepted
// the message, else a *Refusal. Send blocks for at most ten seconds. It drops the body of the answer.
func (s *Sender) Send(ctx context.Context, to *Endpoint, m Message) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(m.Payload))
	if err != nil {
		return 0, &Refusal{Permanent: true, why: "the URL of the webhook is not valid"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "tasker")
	request.Header.Set("webhook-id", m.ID)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(m.At.Unix(), 10))
	request.Header.Set("webhook-signature", Sign(to.Secrets, m.ID, m.At, m.Payload))
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, &Refusal{why: unanswered(err)}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, drained)
	if status = answer.StatusCode; status >= 200 && status < 300 {
		return status, nil
	}
	return status, &Refusal{Status: status, Permanent: permanent(status),
		RetryAfter: retryAfter(answer.Header.Get("Retry-After"), m.At), why: refused(status)}
}

// permanent reports a lasting refusal: every status but those of a busy, slow or broken receiver. A redirect is one
// too: only the configured URL may receive a message.
func permanent(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status < 500
}

func refused(status int) string {
	switch {
	case status == http.StatusGone:
		return "the webhook answered 410 Gone: it takes no more events"
	case status >= 300 && status < 400:
		return fmt.Sprintf("the webhook answered %d: redirects are not followed", status)
	}
	return fmt.Sprintf("the webhook answered %d", status)
}

// unanswered describes a missing answer without the URL, of which a part may be a secret.
func unanswered(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var dns *net.DNSError
	var op *net.OpError
	switch timeout := net.Error(nil); {
	case errors.As(err, &dns):
		return "the webhook cannot be reached: its host name cannot be resolved"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "the webhook did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the delivery was interrupted"
	case errors.As(err, &op) && op.Op == "dial":
		return "the webhook cannot be reached: no connection"
	}
	return "the webhook did not answer: the connection was lost, or it is not HTTP"
}

func retryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if n, err := strconv.Atoi(header); err == nil {
		wait = min(time.Duration(min(n, int(maxRetryAfter/time.Second)))*time.Second, maxRetryAfter)
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
