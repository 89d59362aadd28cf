package topicapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
)

// Backend offers dead letters as messages of topics. Its methods are safe for concurrent use and return *tasker.Error.
// CodeNotFound: there is no such message, or the key does not reach its namespace. CodeConflict: several messages have
// the ID.
type Backend interface {
	Stats(ctx context.Context, namespace string) (*MessageStats, error)
	Messages(ctx context.Context, f Filter) (*MessagePage, error)
	Message(ctx context.Context, of Name) (*DeadMessage, error)
	// Retry sends messages back. It returns when all are sent, or after 25 seconds.
	Retry(ctx context.Context, req MessageRetry) (*MessageRetryAnswer, error)
	// SavePolicy stores the policy of a topic. What the request has no field for stays as it is.
	SavePolicy(ctx context.Context, req TopicPolicy) error
	Discard(ctx context.Context, of Name, act deadletters.Act) (*DeadMessage, error)
	Topics(ctx context.Context, namespace string) ([]DeadTopic, error)
}

// Name names a message.
type Name struct {
	Namespace, Source string // Source "": of any
	EventID           string
}

// Status is the status of a message.
type Status string

// The statuses.
const (
	Pending   Status = "pending"   // waits for an operator
	Scheduled Status = "scheduled" // is sent back at a time, or is being sent
	Retried   Status = "retried"   // was sent back
	Discarded Status = "discarded" // was given up
)

// Statuses lists the statuses.
var Statuses = []Status{Pending, Scheduled, Retried, Discarded}

// Filter selects a page of messages.
type Filter struct {
	Namespace, EventType string
	Topic                *string
	Status               Status // "": any
	Limit, Offset        int
}

// DeadMessage is a dead letter.
type DeadMessage struct {
	EventID       string          `json:"event_id" doc:"The sender's ID of the message; the UUID of the letter if it has none."`
	EventType     string          `json:"event_type" doc:"From the content of the message; empty if it says none."`
	Event         json.RawMessage `json:"event" doc:"What would be sent. A payload that is no JSON is a string, and one that is no text an object with its base64. In a list null for more than 1 KiB."`
	OriginalTopic string          `json:"original_topic"`
	Error         string          `json:"error" doc:"Error of the first or, after a return, the latest death."`
	ErrorType     string          `json:"error_type"`
	RetryCount    int             `json:"retry_count" doc:"Times that it was sent back. It never goes down."`
	AttemptCount  int             `json:"attempt_count" doc:"Attempts of consumers, in all."`
	FailedAt      time.Time       `json:"failed_at" doc:"When it died first."`
	LastFailedAt  time.Time       `json:"last_failed_at"`
	Status        Status          `json:"status" enum:"pending,scheduled,retried,discarded"`
	ProducerID    string          `json:"producer_id" doc:"Consumer or producer that reported the failure."`
	CreatedAt     time.Time       `json:"created_at" doc:"When it was stored."`
	LastUpdated   time.Time       `json:"last_updated" doc:"When it entered its status."`
	NextRetryAt   *time.Time      `json:"next_retry_at" doc:"Of a scheduled message."`
	RetriedAt     *time.Time      `json:"retried_at" doc:"Of a retried message: the latest time."`
	DiscardedAt   *time.Time      `json:"discarded_at"`
	DiscardReason *string         `json:"discard_reason"`
	LastError     *string         `json:"last_error" doc:"Why it could not be sent, or why its policy left it."`
	AgeSeconds    float64         `json:"age_seconds" doc:"Since failed_at."`
	Headers       []MessageHeader `json:"headers,omitempty" doc:"In their order; not in a list. A value that is no text is empty here, and in value_base64."`
	LetterUUID    uuid.UUID       `json:"letter_uuid"`
	Source        string          `json:"source"`
	Parked        bool            `json:"parked" doc:"It was sent back too often: operations on many leave it out."`
}

// MessageHeader is a header of a message.
type MessageHeader struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ValueBase64 []byte `json:"value_base64,omitempty"`
}

// MessagePage is the answer of GET /api/v1/dlq/messages.
type MessagePage struct {
	Messages []DeadMessage `json:"messages" doc:"The newest first."`
	Total    int           `json:"total" doc:"Messages that the filter selects, up to 1,000,000 for each state."`
	Offset   int           `json:"offset"`
	Limit    int           `json:"limit"`
}

// TopicCount counts the messages of a topic.
type TopicCount struct {
	Topic         string  `json:"topic"`
	Count         int     `json:"count" doc:"Messages in any status."`
	AvgRetryCount float64 `json:"avg_retry_count" doc:"Of up to 1,000 messages of each state, the newest."`
}

// TypeCount counts the messages with events of a type.
type TypeCount struct {
	EventType string `json:"event_type"`
	Count     int    `json:"count"`
}

// MessageAges are in seconds.
type MessageAges struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	Avg float64 `json:"avg"`
}

// MessageStats is the answer of GET /api/v1/dlq/stats.
type MessageStats struct {
	ByStatus    MessageCounts `json:"by_status"`
	ByTopic     []TopicCount  `json:"by_topic" doc:"The ten topics with the most messages."`
	ByEventType []TypeCount   `json:"by_event_type" doc:"The ten types with the most messages."`
	AgeStats    MessageAges   `json:"age_stats" doc:"Seconds since the first failure, of pending and scheduled messages: the oldest and up to 1,000 of each state, the newest."`
	Timestamp   time.Time     `json:"timestamp"`
}

// MessageCounts counts messages by their statuses.
type MessageCounts struct {
	Pending   int `json:"pending"`
	Scheduled int `json:"scheduled"`
	Retried   int `json:"retried"`
	Discarded int `json:"discarded"`
}

// DeadTopic is an entry of GET /api/v1/dlq/topics.
type DeadTopic struct {
	Topic         string        `json:"topic"`
	TotalMessages int           `json:"total_messages" doc:"In any status."`
	Statuses      MessageCounts `json:"status_breakdown"`
	OldestMessage *time.Time    `json:"oldest_message" doc:"When the oldest one died first."`
	NewestMessage *time.Time    `json:"newest_message" doc:"When the newest one died last."`
	AvgRetryCount float64       `json:"avg_retry_count" doc:"Of up to 1,000 messages of each state, the newest."`
	MaxRetryCount int           `json:"max_retry_count" doc:"Likewise."`
}

// MaxRetries bounds the messages of one Retry.
const MaxRetries = 1000

// MessageRetry asks to send messages back.
type MessageRetry struct {
	EventIDs  []string `json:"event_ids" minItems:"1" maxItems:"1000" doc:"IDs of messages, or UUIDs of letters."`
	Namespace string   `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to that of the key if it has only one, else to default."`
	Source    string   `json:"source,omitempty" maxLength:"255" doc:"Only messages of this source."`
	Actor     string   `json:"actor,omitempty" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason    string   `json:"reason,omitempty" maxLength:"1024" doc:"Reason of the act."`
}

// MessageRetryAnswer is the answer to a Retry.
type MessageRetryAnswer struct {
	Total      int                  `json:"total"`
	Successful int                  `json:"successful"`
	Failed     int                  `json:"failed"`
	Pending    int                  `json:"pending" doc:"Messages that are sent after the answer; 0 unless sending took 25 seconds."`
	Details    []MessageRetryDetail `json:"details" doc:"One for each ID, in their order."`
}

// MessageRetryDetail is what became of one message.
type MessageRetryDetail struct {
	EventID string `json:"event_id"`
	Status  string `json:"status" enum:"success,failed,pending"`
	Error   string `json:"error,omitempty" doc:"Of a failed one."`
}

// TopicPolicy is the body of POST /api/v1/dlq/retry-policy.
type TopicPolicy struct {
	Topic             string   `json:"topic" minLength:"1" maxLength:"255" doc:"Original topic; * for all topics without a policy of their own."`
	Strategy          string   `json:"strategy" enum:"immediate,exponential_backoff,fixed_interval,scheduled,manual,exponential,fixed" doc:"exponential is exponential_backoff; fixed and scheduled are fixed_interval."`
	MaxRetries        int      `json:"max_retries,omitempty" minimum:"1" maximum:"1000" doc:"Defaults to 5."`
	BaseDelaySeconds  float64  `json:"base_delay_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Defaults to 60."`
	MaxDelaySeconds   float64  `json:"max_delay_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Longest delay that grows. Defaults to 3600, or base_delay_seconds if that is more."`
	RetryMultiplier   float64  `json:"retry_multiplier,omitempty" minimum:"1" maximum:"100" doc:"Defaults to 2."`
	JitterFactor      *float64 `json:"jitter_factor,omitempty" minimum:"0" maximum:"1" doc:"Share by which a delay varies in both directions. Defaults to 0.1 for delays that grow, else to 0."`
	MaxAgeSeconds     *float64 `json:"max_age_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"Older messages are discarded; 0 for no limit. Defaults to that of the policy before, else to 7 days or DLQ_MAX_AGE_DAYS."`
	DiscardTestEvents *bool    `json:"discard_test_events,omitempty" doc:"Defaults to that of the policy before, else to false."`
	CopyRetries       *bool    `json:"copy_retries,omitempty" doc:"Copy retries to the topic with -retry behind its name, if that exists. Defaults likewise."`
	Namespace         string   `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to that of the key if it has only one, else to default."`
	Source            string   `json:"source,omitempty" maxLength:"255" doc:"Defaults to all sources."`
	Actor             string   `json:"actor,omitempty" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason            string   `json:"reason,omitempty" maxLength:"1024" doc:"Reason of the act."`
}

// MessageDone is the answer of requests that change one thing.
type MessageDone struct {
	Message string `json:"message"`
}
