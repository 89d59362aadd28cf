package kafka

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/model/attempt"
	"github.com/taskerhq/tasker/internal/model/failure"
)

// Limits of the texts of a dead letter, in bytes, with the mark of a cut.
const (
	MaxError      = 8 << 10
	MaxErrorType  = 255
	MaxStackTrace = 4096
)

// Headers of a dead letter, behind those of the event.
const (
	HeaderOriginalTopic = "original_topic"
	HeaderErrorType     = "error_type"
	HeaderRetryCount    = "retry_count"
	// The event's place, and its time in milliseconds, unless the broker has set that.
	HeaderOriginalPartition = "original_partition"
	HeaderOriginalOffset    = "original_offset"
	HeaderOriginalTimestamp = "original_timestamp"
	// The others are only on letters whose event is not JSON.
	HeaderError      = "error"
	HeaderFailedAt   = "failed_at"
	HeaderProducerID = "producer_id"
	HeaderEventID    = "event_id"
)

var ours = []string{HeaderOriginalTopic, HeaderErrorType, HeaderRetryCount, HeaderOriginalPartition,
	HeaderOriginalOffset, HeaderOriginalTimestamp, HeaderError, HeaderFailedAt, HeaderProducerID}

const logAppendTime = 1

type failed struct {
	event    *kgo.Record
	topic    string
	err      error
	retries  int
	at       time.Time
	producer string
}

type envelope struct {
	EventID       string          `json:"event_id"`
	EventType     string          `json:"event_type"`
	Event         json.RawMessage `json:"event"`
	OriginalTopic string          `json:"original_topic"`
	Error         string          `json:"error"`
	RetryCount    int             `json:"retry_count"`
	FailedAt      string          `json:"failed_at"`
	ProducerID    string          `json:"producer_id"`
	Status        string          `json:"status"`
	ErrorType     string          `json:"error_type"`
	StackTrace    string          `json:"stack_trace,omitempty"`
	// EventKeyBase64 is an event's key that is not UTF-8; without HasKey it has none.
	EventKey       *string `json:"event_key,omitempty"`
	EventKeyBase64 string  `json:"event_key_base64,omitempty"`
	HasKey         bool    `json:"event_has_key"`
}

// id identifies the event: its member event_id, its header of that name, or else its place.
func (f *failed) id() string {
	var event map[string]json.RawMessage
	if json.Unmarshal(f.event.Value, &event) == nil {
		var text string
		switch id := event["event_id"]; {
		case json.Unmarshal(id, &text) == nil && text != "":
			return text
		case len(id) > 0 && strings.IndexByte("-0123456789", id[0]) >= 0:
			return string(id) // as written: it may have more digits than a float64
		}
	}
	for _, h := range slices.Backward(f.event.Headers) {
		if h.Key == HeaderEventID && len(h.Value) > 0 && utf8.Valid(h.Value) {
			return string(h.Value)
		}
	}
	return fmt.Sprintf("%s:%d@%d", f.topic, f.event.Partition, f.event.Offset)
}

// letter returns the record of the dead letter. A JSON event is put into an envelope; any other stays the value, byte
// for byte, with its key, and headers describe the failure.
func (f *failed) letter(topic string) *kgo.Record {
	headers := slices.Clone(f.event.Headers)
	headers = slices.DeleteFunc(headers, func(h kgo.RecordHeader) bool { return slices.Contains(ours, h.Key) })
	add := func(name, value string) {
		headers = append(headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	add(HeaderOriginalTopic, f.topic)
	add(HeaderErrorType, f.errorType())
	add(HeaderRetryCount, strconv.Itoa(max(f.retries, 0)))
	add(HeaderOriginalPartition, strconv.Itoa(int(f.event.Partition)))
	add(HeaderOriginalOffset, strconv.FormatInt(f.event.Offset, 10))
	if ms := f.event.Timestamp.UnixMilli(); ms >= 0 && f.event.Attrs.TimestampType() != logAppendTime {
		add(HeaderOriginalTimestamp, strconv.FormatInt(ms, 10))
	}
	id := f.id()
	if f.isJSON() {
		return &kgo.Record{Topic: topic, Key: []byte(id), Value: f.envelope(id), Headers: headers}
	}
	add(HeaderError, f.errorText())
	add(HeaderFailedAt, f.failedAt())
	add(HeaderProducerID, f.producer)
	if !slices.ContainsFunc(headers, func(h kgo.RecordHeader) bool { return h.Key == HeaderEventID }) {
		add(HeaderEventID, id)
	}
	return &kgo.Record{Topic: topic, Key: f.event.Key, Value: f.event.Value, Headers: headers}
}

// isJSON reports whether the event can be a member of the envelope: null would be a missing event.
func (f *failed) isJSON() bool {
	v := f.event.Value
	return json.Valid(v) && utf8.Valid(v) && string(bytes.TrimSpace(v)) != "null" &&
		len(bytes.TrimSpace(v)) == len(v) // white space around it would be lost
}

// envelope returns the value of a letter. The event is appended, because json.Marshal would change its white space and
// escapes.
func (f *failed) envelope(id string) []byte {
	const placeholder = "null"
	e := envelope{EventID: id, EventType: "dlq.message", Event: json.RawMessage(placeholder), OriginalTopic: f.topic,
		Error: f.errorText(), RetryCount: max(f.retries, 0), FailedAt: f.failedAt(), ProducerID: f.producer,
		Status: "pending", ErrorType: f.errorType(), StackTrace: failure.Cut(attempt.Stack(f.err), MaxStackTrace),
		HasKey: f.event.Key != nil}
	switch key := f.event.Key; {
	case key == nil:
	case utf8.Valid(key):
		text := string(key)
		e.EventKey = &text
	default:
		e.EventKeyBase64 = base64.StdEncoding.EncodeToString(key)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return f.event.Value
	}
	before, after, _ := bytes.Cut(b, []byte(`"event":`+placeholder))
	return slices.Concat(before, []byte(`"event":`), f.event.Value, after)
}

func (f *failed) errorText() string {
	if f.err == nil {
		return ""
	}
	return failure.Cut(f.err.Error(), MaxError)
}

func (f *failed) errorType() string { return failure.Cut(attempt.TypeName(f.err), MaxErrorType) }

func (f *failed) failedAt() string { return f.at.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// Permanent marks an error as permanent: the event becomes a dead letter without another attempt. It returns nil for
// nil. The mark changes neither the text nor the results of errors.Is and errors.As.
func Permanent(err error) error { return attempt.Permanent(err) }

// IsPermanent reports whether an error rules out another attempt: it is marked with Permanent; or its method
// Retryable() bool says so; or it has a method Class() string that returns "logic". The first of these in the chain of
// err decides. Any other error allows another attempt.
func IsPermanent(err error) bool { return attempt.IsPermanent(err) }
