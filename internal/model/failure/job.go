package failure

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of the texts of a Job, in bytes, with the mark of a cut.
const (
	MaxJobError        = 8 << 10
	MaxJobErrorType    = 255
	MaxJobStackTrace   = 4096
	MaxJobResponseBody = 2048
)

// maxDelays bounds the delays of a Job: the last ones are kept.
const maxDelays = 100

// Encodings of a job that is not JSON.
const (
	JobText   = "text"
	JobBase64 = "base64"
)

// Job is a job that has failed, with its failure: a dead letter in the format job_failure. redisqueue.JobFailure says
// what its fields mean.
type Job struct {
	Job                         []byte
	Error                       string
	Attempts                    int
	FirstFailedAt, LastFailedAt time.Time
	Queue                       string
	ErrorType                   string
	StackTrace                  string
	HTTPStatus                  int
	ResponseBody                string
	RetryDelays                 []time.Duration
	Context                     json.RawMessage
}

// timeLayout is that of Python's datetime.isoformat with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000"

// Encode returns the letter as JSON. It cuts and marks long texts, and never fails, whatever a job contains; a Context
// that is no JSON object is left out.
func (f Job) Encode() []byte {
	b := make([]byte, 0, len(f.Job)+len(f.Error)+len(f.StackTrace)+512)
	b = append(b, `{"original_job":`...)
	b, encoding := appendJob(b, f.Job)
	b = appendText(append(b, `,"error":`...), Cut(f.Error, MaxJobError))
	b = strconv.AppendInt(append(b, `,"attempt_count":`...), int64(f.Attempts), 10)
	b = appendTime(append(b, `,"first_failed_at":`...), f.FirstFailedAt)
	b = appendTime(append(b, `,"last_failed_at":`...), f.LastFailedAt)
	b = appendText(append(b, `,"queue_name":`...), f.Queue)
	b = appendOptional(append(b, `,"error_type":`...), Cut(f.ErrorType, MaxJobErrorType))
	b = appendOptional(append(b, `,"stack_trace":`...), Cut(f.StackTrace, MaxJobStackTrace))
	b = append(b, `,"http_status":`...)
	if f.HTTPStatus == 0 {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, int64(f.HTTPStatus), 10)
	}
	b = appendOptional(append(b, `,"response_body":`...), Cut(f.ResponseBody, MaxJobResponseBody))
	b = appendDelays(append(b, `,"retry_delays":`...), f.RetryDelays)
	b = append(b, `,"context":`...)
	if IsObject(f.Context) {
		b = append(b, f.Context...)
	} else {
		b = append(b, "null"...)
	}
	if encoding != "" {
		b = appendText(append(b, `,"original_job_encoding":`...), encoding)
	}
	return append(b, '}')
}

// appendJob appends a job as a JSON value, and returns its encoding, "" for JSON. The word null is text: readers take a
// null for a missing job.
func appendJob(b, job []byte) ([]byte, string) {
	switch {
	case json.Valid(job) && utf8.Valid(job) && strings.TrimSpace(string(job)) != "null":
		return append(b, job...), ""
	case utf8.Valid(job):
		return appendText(b, string(job)), JobText
	}
	return appendText(b, base64.StdEncoding.EncodeToString(job)), JobBase64
}

func appendText(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil { // a string can always be written
		return append(b, `""`...)
	}
	return append(b, quoted...)
}

func appendOptional(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendText(b, s)
}

func appendTime(b []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(append(b, '"'), timeLayout), '"')
}

// appendDelays appends delays as seconds, with a point in each like Python's floats.
func appendDelays(b []byte, delays []time.Duration) []byte {
	if delays == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, d := range delays[max(0, len(delays)-maxDelays):] {
		if i > 0 {
			b = append(b, ',')
		}
		at := len(b)
		b = strconv.AppendFloat(b, d.Seconds(), 'f', -1, 64)
		if bytes.IndexByte(b[at:], '.') < 0 {
			b = append(b, ".0"...)
		}
	}
	return append(b, ']')
}

// IsObject reports whether a JSON value is an object.
func IsObject(raw json.RawMessage) bool {
	return json.Valid(raw) && strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{")
}
