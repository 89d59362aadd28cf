package deadletters

import (
	"time"

	"github.com/taskerhq/tasker"
)

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
	// WebhookApprovalRequested is one that a webhook without types receives, WebhookApprovalDecided is not.
	WebhookApprovalRequested WebhookType = "approval.requested"
	WebhookApprovalDecided   WebhookType = "approval.decided"
	WebhookTest              WebhookType = "webhook.test" // of TestWebhook; it has no data
)

// WebhookEvent is the body of a request to a webhook. The request is signed as the Standard Webhooks specification
// says; its header webhook-id is the same in every attempt to deliver one event.
type WebhookEvent struct {
	Type      WebhookType `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      WebhookData `json:"data"`
}

// WebhookData is what an event is about.
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
