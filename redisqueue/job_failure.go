package redisqueue

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// Limits of the texts of a JobFailure, in bytes, with the mark of a cut.
const (
	MaxError        = failure.MaxJobError
	MaxErrorType    = failure.MaxJobErrorType
	MaxStackTrace   = failure.MaxJobStackTrace
	MaxResponseBody = failure.MaxJobResponseBody
)

// JobFailure is a dead letter: a job and why it failed. Its JSON has the member named in each field's comment, and null
// for unknown values.
type JobFailure struct {
	// Job is the job as in its queue (original_job). JSON is a value in the letter, byte for byte; other text is a
	// string, and other bytes are a string in base64. The member original_job_encoding, which JSON does not have, is
	// "text" or "base64" then.
	Job []byte
	// Error is the text of the last error (error).
	Error string
	// Attempts is the number of attempts (attempt_count).
	Attempts int
	// FirstFailedAt and LastFailedAt are the times of the first and the last failure (first_failed_at, last_failed_at),
	// in UTC with microseconds and without a zone.
	FirstFailedAt, LastFailedAt time.Time
	// Queue is the origin of the job (queue_name).
	Queue string
	// ErrorType is the type of the error (error_type); "" for unknown.
	ErrorType string
	// StackTrace is the beginning of the stack (stack_trace), at most MaxStackTrace bytes; "" for unknown.
	StackTrace string
	// HTTPStatus is the status of an answer (http_status); 0 for none.
	HTTPStatus int
	// ResponseBody is the beginning of that answer (response_body), at most MaxResponseBody bytes.
	ResponseBody string
	// RetryDelays are the delays between the attempts (retry_delays), in seconds; the last hundred of them. nil for
	// unknown.
	RetryDelays []time.Duration
	// Context is the state of the system at the last failure (context): a JSON object, or nil. See
	// ConsumerOptions.ContextQueues.
	Context json.RawMessage
}

// MarshalJSON returns Encode. json.Marshal then changes white space and escapes of Job; Encode alone keeps its bytes.
func (f JobFailure) MarshalJSON() ([]byte, error) { return f.Encode(), nil }

// Encode returns the letter as JSON. It cuts and marks long texts, and never fails, whatever a job contains; a Context
// that is no JSON object is left out.
func (f JobFailure) Encode() []byte { return failure.Job(f).Encode() }

// ParseJobFailure reads a dead letter. Missing or null members leave their fields empty, and unknown ones are ignored:
// other programs write letters too. Only original_job, error and queue_name are required.
func ParseJobFailure(b []byte) (JobFailure, error) {
	var in struct {
		Job          json.RawMessage `json:"original_job"`
		Error        *string         `json:"error"`
		Attempts     int             `json:"attempt_count"`
		First        string          `json:"first_failed_at"`
		Last         string          `json:"last_failed_at"`
		Queue        *string         `json:"queue_name"`
		Type         string          `json:"error_type"`
		Stack        string          `json:"stack_trace"`
		Status       int             `json:"http_status"`
		ResponseBody string          `json:"response_body"`
		Delays       []float64       `json:"retry_delays"`
		Context      json.RawMessage `json:"context"`
		Encoding     string          `json:"original_job_encoding"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return JobFailure{}, fmt.Errorf("read a dead letter: %w", err)
	}
	if in.Job == nil || in.Error == nil || in.Queue == nil {
		return JobFailure{}, errors.New("read a dead letter: it needs original_job, error and queue_name")
	}
	f := JobFailure{Error: *in.Error, Attempts: in.Attempts, Queue: *in.Queue, ErrorType: in.Type, StackTrace: in.Stack,
		HTTPStatus: in.Status, ResponseBody: in.ResponseBody}
	var err error
	if f.Job, err = parseJob(in.Job, in.Encoding); err != nil {
		return JobFailure{}, err
	}
	if failure.IsObject(in.Context) {
		f.Context = in.Context
	}
	if f.FirstFailedAt, err = parseTime(in.First); err != nil {
		return JobFailure{}, fmt.Errorf("read a dead letter: first_failed_at: %w", err)
	}
	if f.LastFailedAt, err = parseTime(in.Last); err != nil {
		return JobFailure{}, fmt.Errorf("read a dead letter: last_failed_at: %w", err)
	}
	for _, seconds := range in.Delays {
		f.RetryDelays = append(f.RetryDelays, time.Duration(math.Round(seconds*float64(time.Second))))
	}
	if in.Delays != nil && f.RetryDelays == nil {
		f.RetryDelays = []time.Duration{}
	}
	return f, nil
}

func parseJob(raw json.RawMessage, encoding string) ([]byte, error) {
	if encoding == "" {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("read a dead letter: original_job: %w", err)
	}
	switch encoding {
	case failure.JobText:
		return []byte(text), nil
	case failure.JobBase64:
		job, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("read a dead letter: original_job: %w", err)
		}
		return job, nil
	}
	return nil, fmt.Errorf("read a dead letter: original_job_encoding must be text or base64, not %.40q", encoding)
}

// parseTime reads the format of Encode, and times with a zone or without a fraction; "" is the zero time.
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	t, err := time.Parse("2006-01-02T15:04:05.999999999", s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.40q is no time such as 2024-01-15T10:30:01.000000", s)
	}
	return t, nil
}
