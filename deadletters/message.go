package deadletters

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// TopicBackend offers dead letters like a processor of dead letter topics: as messages of their original topics, with
// statuses, and policies per topic. They are the letters of Backend. Its methods are safe for concurrent use and return
// *tasker.Error. CodeNotFound: there is no such message, or the API key does not reach its namespace. CodeConflict:
// messages of several sources have the ID. CodeUnavailable: the server's store keeps no dead letters.
type TopicBackend interface {
	// Stats counts the messages of a namespace; "" is that of the key if it has only one, else default.
	Stats(ctx context.Context, namespace string) (*MessageStats, error)
	// Topics returns the original topics by name, the first 500.
	Topics(ctx context.Context, namespace string) ([]DeadTopic, error)
	// Messages returns a page, the newest first, without headers and events of more than 1 KiB.
	Messages(ctx context.Context, filter MessageFilter) (*MessagePage, error)
	// Message returns a message whole.
	Message(ctx context.Context, name MessageName) (*DeadMessage, error)
	// Retry sends up to MaxMessageRetries messages back, even discarded ones, and returns a result for each. It returns
	// when all are sent, or after 25 seconds; the rest is sent later. A second call sends them again.
	Retry(ctx context.Context, req MessageRetry) (*MessageRetryAnswer, error)
	// Discard discards a message. Reason is required. CodeWrongState: it is neither pending nor scheduled.
	Discard(ctx context.Context, name MessageName, act Act) (*MessageDone, error)
	// SavePolicy stores the policy of a topic, for messages that arrive or come back from then on.
	SavePolicy(ctx context.Context, policy TopicPolicy) (*MessageDone, error)
}

// TopicsOf returns the TopicBackend of a client: its server, or its engine in this process. An engine whose store keeps
// no dead letters answers every call with CodeInvalid.
func TopicsOf(c *tasker.Client) TopicBackend {
	if engine, inProcess := c.Backend.(interface{ Messages() TopicBackend }); inProcess {
		if b := engine.Messages(); b != nil {
			return b
		}
	}
	return topicServer{server{c}}
}

// MessageName names a message.
type MessageName struct {
	EventID string `path:"event_id" maxLength:"255" doc:"The sender's ID of the message, or the UUID of the letter."`
	Source  string `query:"source" maxLength:"255" doc:"Source of the message, where messages of several have the ID."`
	// Namespace "" is that of the key if it has only one, else default.
	Namespace string `query:"namespace" maxLength:"255" doc:"Defaults to that of the key."`
}

// MessageStatus is the status of a message.
type MessageStatus string

// The statuses of messages.
const (
	MessagePending   MessageStatus = "pending"   // waits for an operator
	MessageScheduled MessageStatus = "scheduled" // has a due time, or is being sent
	MessageRetried   MessageStatus = "retried"   // was sent back
	MessageDiscarded MessageStatus = "discarded" // see Discard
)

// MessageFilter selects a page of messages. Empty fields select all.
type MessageFilter struct {
	Status    MessageStatus `query:"status" enum:"pending,scheduled,retried,discarded"`
	Topic     string        `query:"topic" maxLength:"255" doc:"Original topic."`
	EventType string        `query:"event_type" maxLength:"255"`
	Limit     int           `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Offset    int           `query:"offset" minimum:"0" maximum:"1000000" default:"0" doc:"From the newest."`
	// Namespace "" is that of the key if it has only one, else default.
	Namespace string `query:"namespace" maxLength:"255" doc:"Defaults to that of the key."`
}

// DeadMessage is a dead letter as a message of its topic. Event is JSON unchanged, a string for other text, and an
// object with the member base64 for other bytes.
type DeadMessage struct {
	EventID       string          `json:"event_id" doc:"ID of the message, or else UUID of the letter."`
	EventType     string          `json:"event_type" doc:"From the content of the message; empty if it says none."`
	Event         json.RawMessage `json:"event" doc:"What is sent back. Null for more than 1 KiB in a list."`
	OriginalTopic string          `json:"original_topic"`
	Error         string          `json:"error" doc:"Error of the first or, after a return, the latest death."`
	ErrorType     string          `json:"error_type"`
	RetryCount    int             `json:"retry_count" doc:"Times that it was sent back. It never goes down."`
	AttemptCount  int             `json:"attempt_count" doc:"Attempts of consumers, in all."`
	FailedAt      time.Time       `json:"failed_at" doc:"When it died first."`
	LastFailedAt  time.Time       `json:"last_failed_at"`
	Status        MessageStatus   `json:"status" enum:"pending,scheduled,retried,discarded"`
	ProducerID    string          `json:"producer_id" doc:"Consumer or producer that reported the failure."`
	CreatedAt     time.Time       `json:"created_at" doc:"When it was stored."`
	LastUpdated   time.Time       `json:"last_updated" doc:"When it entered its status."`
	NextRetryAt   *time.Time      `json:"next_retry_at" doc:"Of a scheduled message."`
	RetriedAt     *time.Time      `json:"retried_at" doc:"Of a retried message: the latest time."`
	DiscardedAt   *time.Time      `json:"discarded_at"`
	DiscardReason *string         `json:"discard_reason"`
	LastError     *string         `json:"last_error" doc:"Why it could not be sent, or why its policy left it."`
	AgeSeconds    float64         `json:"age_seconds" doc:"Since failed_at."`
	Headers       []MessageHeader `json:"headers,omitempty" doc:"In their order; not in a list."`
	LetterUUID    uuid.UUID       `json:"letter_uuid"`
	Source        string          `json:"source"`
	Parked        bool            `json:"parked" doc:"It was sent back too often: operations on many leave it out."`
	// Namespace is that of the source; it is not part of the JSON.
	Namespace string `json:"-"`
}

// MessageHeader is a header of a message. A value that is no text is only in ValueBase64.
type MessageHeader struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ValueBase64 []byte `json:"value_base64,omitempty"`
}

// MessagePage is a page of messages, the newest first.
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

// MessageAges are the seconds since the first failure of messages: of the oldest one, and of the newest up to 1,000 of
// each state.
type MessageAges struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	Avg float64 `json:"avg"`
}

// MessageStats counts the messages of a namespace.
type MessageStats struct {
	ByStatus    MessageCounts `json:"by_status"`
	ByTopic     []TopicCount  `json:"by_topic" doc:"The ten topics with the most messages."`
	ByEventType []TypeCount   `json:"by_event_type" doc:"The ten types with the most messages."`
	AgeStats    MessageAges   `json:"age_stats" doc:"Of pending and scheduled messages, in seconds."`
	Timestamp   time.Time     `json:"timestamp"`
}

// MessageCounts counts messages by their statuses.
type MessageCounts struct {
	Pending   int `json:"pending"`
	Scheduled int `json:"scheduled"`
	Retried   int `json:"retried"`
	Discarded int `json:"discarded"`
}

// DeadTopic summarises the messages of an original topic.
type DeadTopic struct {
	Topic         string        `json:"topic"`
	TotalMessages int           `json:"total_messages" doc:"In any status."`
	Statuses      MessageCounts `json:"status_breakdown"`
	OldestMessage *time.Time    `json:"oldest_message" doc:"When the oldest one died first."`
	NewestMessage *time.Time    `json:"newest_message" doc:"When the newest one died last."`
	AvgRetryCount float64       `json:"avg_retry_count" doc:"Of up to 1,000 messages of each state, the newest."`
	MaxRetryCount int           `json:"max_retry_count" doc:"Likewise."`
}

// MaxMessageRetries bounds the messages of one Retry.
const MaxMessageRetries = 1000

// MessageRetry names the messages of one Retry.
type MessageRetry struct {
	EventIDs  []string `json:"event_ids" minItems:"1" maxItems:"1000" doc:"IDs of messages, or UUIDs of letters."`
	Namespace string   `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to that of the key."`
	Source    string   `json:"source,omitempty" maxLength:"255" doc:"Only messages of this source."`
	Actor     string   `json:"actor,omitempty" maxLength:"255" doc:"Defaults to the API key."`
	Reason    string   `json:"reason,omitempty" maxLength:"1024" doc:"Reason of the act."`
}

// MessageRetryAnswer is the answer to a Retry.
type MessageRetryAnswer struct {
	Total      int                  `json:"total"`
	Successful int                  `json:"successful"`
	Failed     int                  `json:"failed"`
	Pending    int                  `json:"pending" doc:"Messages that are sent after the answer."`
	Details    []MessageRetryDetail `json:"details" doc:"One for each ID, in their order."`
}

// MessageRetryDetail is the result for one message.
type MessageRetryDetail struct {
	EventID string `json:"event_id"`
	Status  string `json:"status" enum:"success,failed,pending"`
	Error   string `json:"error,omitempty" doc:"Of a failed one."`
}

// TopicPolicy is the policy of an original topic, for all sources or one. MaxRetries counts replays and failed sends;
// then the message is discarded. Jitter is the share by which delays vary in both directions. Nil of MaxAgeSeconds and
// the flags keeps the policy before; without one, the age is 7 days or DLQ_MAX_AGE_DAYS, and the flags are false.
type TopicPolicy struct {
	Topic             string   `json:"topic" minLength:"1" maxLength:"255" doc:"Original topic; * for all others."`
	Strategy          string   `json:"strategy" enum:"immediate,exponential_backoff,fixed_interval,scheduled,manual,exponential,fixed"`
	MaxRetries        int      `json:"max_retries,omitempty" minimum:"1" maximum:"1000" doc:"Defaults to 5."`
	BaseDelaySeconds  float64  `json:"base_delay_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Defaults to 60."`
	MaxDelaySeconds   float64  `json:"max_delay_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Defaults to 3600."`
	RetryMultiplier   float64  `json:"retry_multiplier,omitempty" minimum:"1" maximum:"100" doc:"Defaults to 2."`
	JitterFactor      *float64 `json:"jitter_factor,omitempty" minimum:"0" maximum:"1" doc:"Defaults to 0.1 for delays that grow."`
	MaxAgeSeconds     *float64 `json:"max_age_seconds,omitempty" minimum:"0" maximum:"315360000" doc:"0: no limit."`
	DiscardTestEvents *bool    `json:"discard_test_events,omitempty" doc:"Defaults to the policy before."`
	CopyRetries       *bool    `json:"copy_retries,omitempty" doc:"Copy to the topic with -retry."`
	Namespace         string   `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to that of the key."`
	Source            string   `json:"source,omitempty" maxLength:"255" doc:"Defaults to all sources."`
	Actor             string   `json:"actor,omitempty" maxLength:"255" doc:"Defaults to the API key."`
	Reason            string   `json:"reason,omitempty" maxLength:"1024" doc:"Reason of the act."`
}

// MessageDone is the result of a verb.
type MessageDone struct {
	Message string `json:"message"`
}

// WebhookType is the type of an event that webhooks receive.
type WebhookType string

// The types of events that webhooks receive.
const (
	WebhookGroupNew        WebhookType = "group.new"
	WebhookGroupRegression WebhookType = "group.regression"
	WebhookGroupBurst      WebhookType = "group.burst"
	WebhookRedriveHalted   WebhookType = "redrive.halted"
	WebhookReplayFailed    WebhookType = "replay.failed"
	WebhookSourceLost      WebhookType = "source.lost"
	WebhookOutageOpened    WebhookType = "outage.opened"
	WebhookOutageClosed    WebhookType = "outage.closed"
	WebhookLetterRetrying  WebhookType = "letter.retrying" // this and the next two only for webhooks that name them
	WebhookLetterRetried   WebhookType = "letter.retried"
	WebhookLetterDiscarded WebhookType = "letter.discarded"
	WebhookPauseBegun      WebhookType = "pause.begun" // this and the next three too
	WebhookPauseEnded      WebhookType = "pause.ended"
	WebhookScheduleFired   WebhookType = "schedule.fired"
	WebhookScheduleMissed  WebhookType = "schedule.missed"
	// A webhook without types receives WebhookApprovalRequested, but not WebhookApprovalDecided.
	WebhookApprovalRequested WebhookType = "approval.requested"
	WebhookApprovalDecided   WebhookType = "approval.decided"
	WebhookTest              WebhookType = "webhook.test" // of TestWebhook; it has no data
)

// WebhookEvent is the body of a request to a webhook, signed by the Standard Webhooks specification; the header
// webhook-id is the same in every attempt to deliver one event.
type WebhookEvent struct {
	Type      WebhookType `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      WebhookData `json:"data"`
}

// WebhookData is the subject of an event.
type WebhookData struct {
	Namespace string               `json:"namespace,omitempty"`
	Cause     string               `json:"cause,omitempty"`
	Group     *tasker.GroupEvent   `json:"group,omitempty"`
	Redrive   *tasker.RedriveEvent `json:"redrive,omitempty"`
	Replay    *tasker.ReplayEvent  `json:"replay,omitempty"`
	Source    *tasker.SourceEvent  `json:"source,omitempty"`
	Letters   *tasker.LetterEvent  `json:"letters,omitempty"`
	Outage    *tasker.OutageEvent  `json:"outage,omitempty"`

	Pause    *tasker.PauseEvent    `json:"pause,omitempty"`
	Schedule *tasker.ScheduleEvent `json:"schedule,omitempty"`
	Approval *tasker.ApprovalEvent `json:"approval,omitempty"`
}

// Webhook is a configured receiver of events.
type Webhook struct {
	Name       string        `json:"name"`
	URL        string        `json:"url" doc:"Scheme and host; the rest may be a secret."`
	Events     []WebhookType `json:"events"`
	Namespaces []string      `json:"namespaces,omitempty" doc:"Missing for all."`
	Secrets    int           `json:"secrets" doc:"Number of secrets that sign."`
}
