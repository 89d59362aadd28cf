package redisqueue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/redisqueue"
)

// example is a letter by an application in Python.
const example = `{
  "original_job": {
    "camera_id": "front_door",
    "file_path": "/export/foscam/front_door/image_001.jpg",
    "timestamp": "2024-01-15T10:30:00.000000"
  },
  "error": "Connection refused: YOLO26 service unavailable",
  "attempt_count": 3,
  "first_failed_at": "2024-01-15T10:30:01.000000",
  "last_failed_at": "2024-01-15T10:30:15.000000",
  "queue_name": "detection_queue",
  "error_type": "ConnectionRefusedError",
  "stack_trace": "Traceback (most recent call last):\n  File ...",
  "http_status": null,
  "response_body": null,
  "retry_delays": [1.0, 2.1, 4.3],
  "context": {
    "detection_queue_depth": 15,
    "analysis_queue_depth": 3,
    "dlq_circuit_breaker_state": "closed"
  }
}`

// A letter is written again member for member, in order.
func TestJobFailureExample(t *testing.T) {
	t.Parallel()
	f, err := redisqueue.ParseJobFailure([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	if err := errors.Join(json.Compact(&got, f.Encode()), json.Compact(&want, []byte(example))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Error(diff)
	}
	if !bytes.Contains(f.Encode(), []byte("{\n    \"camera_id\"")) {
		t.Error("the bytes of the job were changed")
	}
}

// The server's decoder finds all values of a letter.
func TestJobFailureIsReadByTasker(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	for _, job := range []string{`{"a": 1,  "b": [2, null]}`, `[1]`, `"text"`, "no <JSON>", "", "\xff\x00", " null", "7"} {
		f := redisqueue.JobFailure{Job: []byte(job), Error: "no route \u2028 to <host>", Attempts: 3, FirstFailedAt: at,
			LastFailedAt: at.Add(time.Minute), Queue: "jobs", ErrorType: "*net.OpError", StackTrace: "main.go:1",
			HTTPStatus: 503, ResponseBody: "over", RetryDelays: []time.Duration{time.Second, 2500 * time.Millisecond},
			Context: json.RawMessage(`{"jobs_depth":4}`)}
		d := format.Decode(driver.Message{Payload: f.Encode()}, "")
		if d.Format != "job_failure" || string(d.Content.Payload) != job {
			t.Errorf("%q: format %s (%s), payload %q", job, d.Format, d.Undecoded, d.Content.Payload)
		}
		if d.Origin != "jobs" || d.Failure.Message != f.Error || d.Failure.Type != f.ErrorType || d.Stack != f.StackTrace ||
			d.Attempts != 3 || !d.FirstAt.Time().Equal(at) || !d.LastAt.Time().Equal(at.Add(time.Minute)) {
			t.Errorf("%q: %+v", job, d)
		}
		want := []deadletter.Detail{{Name: "http_status", Value: "503"}, {Name: "response_body", Value: "over"},
			{Name: "retry_delays", Value: "[1.0,2.5]"}, {Name: "context", Value: `{"jobs_depth":4}`}}
		if !slices.Equal(d.Details, want) {
			t.Errorf("%q: %+v", job, d.Details)
		}
	}
}

func TestJobFailureIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 10_000) + "\xff"
	f := redisqueue.JobFailure{Job: []byte("{}"), Error: long, Queue: "q", ErrorType: long, StackTrace: long,
		ResponseBody: long, RetryDelays: make([]time.Duration, 500), Context: json.RawMessage("[1]")}
	out, err := redisqueue.ParseJobFailure(f.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]struct {
		text  string
		limit int
	}{"error": {out.Error, redisqueue.MaxError}, "type": {out.ErrorType, redisqueue.MaxErrorType},
		"stack": {out.StackTrace, redisqueue.MaxStackTrace}, "body": {out.ResponseBody, redisqueue.MaxResponseBody}} {
		if n := len(part.text); n > part.limit || n < part.limit-2 || !utf8.ValidString(part.text) ||
			!strings.HasSuffix(part.text, "[truncated]") {
			t.Errorf("%s: %d bytes of %d, %q", name, n, part.limit, part.text[n-30:])
		}
	}
	if out.Context != nil || len(out.RetryDelays) != 100 {
		t.Errorf("context %s, %d delays", out.Context, len(out.RetryDelays))
	}
}

func TestParseJobFailureRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "{}", `{"original_job":1,"error":"e"}`, `{"original_job":1,"queue_name":"q"}`,
		`{"original_job":1,"error":"e","queue_name":"q","first_failed_at":"yesterday"}`,
		`{"original_job":"!","error":"e","queue_name":"q","original_job_encoding":"base64"}`,
		`{"original_job":"!","error":"e","queue_name":"q","original_job_encoding":"zip"}`,
		`{"original_job":1,"error":"e","queue_name":"q","original_job_encoding":"text"}`} {
		if f, err := redisqueue.ParseJobFailure([]byte(text)); err == nil {
			t.Errorf("%s: %+v", text, f)
		}
	}
}

// Any job comes back unchanged, from both readers.
func FuzzJobFailure(f *testing.F) {
	f.Add([]byte(`{"a":"\u0000"}`), "error")
	f.Add([]byte("\xff\xfe"), "\x00")
	f.Fuzz(func(t *testing.T, job []byte, text string) {
		in := redisqueue.JobFailure{Job: job, Error: text, Queue: "q"}
		out, err := redisqueue.ParseJobFailure(in.Encode())
		if err != nil {
			t.Fatal(err)
		}
		// White space around JSON is not part of the value.
		if got, want := bytes.TrimSpace(out.Job), bytes.TrimSpace(job); !bytes.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		d := format.Decode(driver.Message{Payload: in.Encode()}, "job_failure")
		if d.Format != "job_failure" || !bytes.Equal(bytes.TrimSpace(d.Content.Payload), bytes.TrimSpace(job)) {
			t.Errorf("%s (%s): %q, want %q", d.Format, d.Undecoded, d.Content.Payload, job)
		}
	})
}

type retryable bool

func (r retryable) Error() string   { return "e" }
func (r retryable) Retryable() bool { return bool(r) }

type classed string

func (c classed) Error() string { return "e" }
func (c classed) Class() string { return string(c) }

func TestIsPermanent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {io.EOF, false}, {&net.OpError{}, false}, {redisqueue.Permanent(io.EOF), true},
		{fmt.Errorf("detect: %w", redisqueue.Permanent(io.EOF)), true},
		{errors.Join(io.EOF, redisqueue.Permanent(io.EOF)), true},
		{&redisqueue.HTTPError{Status: 422}, true}, {&redisqueue.HTTPError{Status: 429}, false},
		{&redisqueue.HTTPError{Status: 503}, false}, {redisqueue.Permanent(&redisqueue.HTTPError{Status: 503}), true},
		{retryable(true), false}, {retryable(false), true}, {classed("logic"), true}, {classed("transient"), false},
		{classed("unknown"), false},
	} {
		if got := redisqueue.IsPermanent(tc.err); got != tc.want {
			t.Errorf("%T %v: %t", tc.err, tc.err, got)
		}
	}
	if redisqueue.Permanent(nil) != nil {
		t.Error("no error became one")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string][2]string{
		"detection_queue":              {"dlq:detection_queue", "dlq:overflow:detection_queue"},
		"dlq:detection_queue":          {"dlq:detection_queue", "dlq:overflow:detection_queue"},
		"dlq:overflow:detection_queue": {"dlq:overflow:detection_queue", "dlq:overflow:detection_queue"},
	} {
		if got := [2]string{redisqueue.DLQName(queue), redisqueue.DLQOverflowName(queue)}; got != want {
			t.Errorf("%s: %q, want %q", queue, got, want)
		}
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	for n, want := range []int{1, 1, 2, 4, 8, 16, 30, 30} {
		if got := (redisqueue.RetryPolicy{}).Delay(n, 0); got != time.Duration(want)*time.Second {
			t.Errorf("after attempt %d: %v, want %d s", n, got, want)
		}
	}
	p := redisqueue.RetryPolicy{Base: 4 * time.Second}
	if got := p.Delay(1, 0.5); got != 4500*time.Millisecond {
		t.Errorf("with half of the jitter: %v", got)
	}
	if got := p.Delay(1_000_000, 0.999999); got < 37*time.Second || got > 37500*time.Millisecond {
		t.Errorf("after a million: %v", got)
	}
	p.NoJitter = true
	if got := p.Delay(1, 0.5); got != 4*time.Second {
		t.Errorf("without jitter: %v", got)
	}
}
