package deadletters

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Backend offers the verbs of dead letters, on a server or on an engine in this process. Its methods are safe for
// concurrent use, block until their outcome is durable, and return *tasker.Error for errors that the caller can handle.
// CodeUnavailable: the server's store keeps no dead letters. CodeNotFound: there is no such object, or the API key does
// not reach its namespace. CodeConflict: the object has changed since Act.IfMatch.
type Backend interface {
	LetterBackend
	GroupBackend
	RedriveBackend
	SourceBackend
	RuleBackend
	WebhookBackend
	ReplayBackend
}

// Of returns the Backend of a client: its server, or its engine in this process. An engine whose store keeps no dead
// letters answers every call with CodeInvalid.
func Of(c *tasker.Client) Backend {
	if engine, inProcess := c.Backend.(interface{ DeadLetters() Backend }); inProcess {
		if b := engine.DeadLetters(); b != nil {
			return b
		}
	}
	return server{c}
}

// LetterBackend is the part of a Backend about letters.
type LetterBackend interface {
	// Report stores failures of messages, all or none, and returns receipts in order. A repeated report changes
	// nothing. CodeNotFound: there is no such source. CodeExhausted: the source has too many open letters.
	Report(ctx context.Context, req ReportRequest) ([]Receipt, error)
	// Letters returns a page of letters, the newest first, without headers, stacks and larger payloads.
	Letters(ctx context.Context, filter LetterFilter) (*LetterPage, error)
	// Letter returns a letter whole, with its occurrences.
	Letter(ctx context.Context, id uuid.UUID) (*LetterStory, error)
	// ExplainLetter explains a letter's state and its possible changes in sentences.
	ExplainLetter(ctx context.Context, id uuid.UUID) (*StateExplanation, error)
	// ExportLetters returns every letter of a filter, whole, the newest first. It reads as it goes: concurrent changes
	// may be included. An error ends it.
	ExportLetters(ctx context.Context, filter LetterFilter) iter.Seq2[*Letter, error]
	// EditLetter changes what is sent instead of a letter's original, which is kept. CodeWrongState: the letter is not
	// open.
	EditLetter(ctx context.Context, id uuid.UUID, edit LetterEdit) (*Letter, error)
	// DiscardLetter discards a letter, for a reason. RestoreLetter opens it again, until it is purged.
	DiscardLetter(ctx context.Context, id uuid.UUID, act Act) (*Letter, error)
	RestoreLetter(ctx context.Context, id uuid.UUID, act Act) (*Letter, error)
}

// GroupBackend is the part of a Backend about groups: the inbox.
type GroupBackend interface {
	// Groups returns a page of the groups that are not merged into others.
	Groups(ctx context.Context, filter GroupFilter) (*GroupPage, error)
	// Group returns a group with its thread, its common failure, and a recent letter.
	Group(ctx context.Context, id string) (*GroupStory, error)
	// ChangeGroup changes a group's state, owner, runbook or due time, and adds to its thread.
	ChangeGroup(ctx context.Context, id string, change GroupChange) (*Group, error)
	// ChangeGroups changes up to 1,000 groups, named or selected by a filter, with a result for each. CodeConflict: the
	// filter selects more.
	ChangeGroups(ctx context.Context, req GroupsChange) (*ChangedGroups, error)
	// MergeGroups shows the failures of groups as those of one. UnmergeGroup takes one out again.
	MergeGroups(ctx context.Context, into string, req MergeRequest) (*Group, error)
	UnmergeGroup(ctx context.Context, id string, act Act) (*Group, error)
	// SplitGroup divides a group by a rule within it, and returns the rule. New failures follow it immediately; members
	// move within seconds. UnsplitGroup undoes the split that made a group, and returns the group that was split.
	// CodeWrongState: no split in force made it.
	SplitGroup(ctx context.Context, id string, req SplitRequest) (*SavedRule, error)
	UnsplitGroup(ctx context.Context, id string, act Act) (*Group, error)
}

// RedriveBackend is the part of a Backend about operations on many letters and cases.
type RedriveBackend interface {
	// PreviewRedrive returns the effect of an operation, and stores nothing.
	PreviewRedrive(ctx context.Context, req RedriveRequest) (*Preview, error)
	// CreateRedrive freezes the selection: later arrivals are not included.
	CreateRedrive(ctx context.Context, req RedriveRequest) (*Redrive, error)
	// ActOnRedrive starts, pauses, resumes or cancels a redrive. CodeWrongState: its state does not allow that.
	ActOnRedrive(ctx context.Context, id uuid.UUID, act RedriveAct) (*Redrive, error)
	Redrive(ctx context.Context, id uuid.UUID) (*Redrive, error)
	// ExplainRedrive explains a redrive's state and its possible changes in sentences.
	ExplainRedrive(ctx context.Context, id uuid.UUID) (*StateExplanation, error)
	// Redrives returns a page of redrives, the newest first.
	Redrives(ctx context.Context, filter RedriveFilter) (*RedrivePage, error)
	// RedriveItems returns a page of the items of a redrive, in the order of sending.
	RedriveItems(ctx context.Context, id uuid.UUID, filter ItemFilter) (*ItemPage, error)
}

// SourceBackend is the part of a Backend about sources and their policies.
type SourceBackend interface {
	// SaveSource makes or changes the source of that namespace and name.
	SaveSource(ctx context.Context, req SourceRequest) (*Source, error)
	// DropSource removes a source; its letters stay.
	DropSource(ctx context.Context, namespace, name string, act Act) error
	// Sources returns the sources of a namespace, or all (""), with their states.
	Sources(ctx context.Context, namespace string) ([]SourceStatus, error)
	// Source returns a source with its state and the policies for its letters.
	Source(ctx context.Context, namespace, name string) (*SourceStatus, error)
	// TestSource connects to the broker of a source once, and reports a failure in SourceStatus.Error.
	TestSource(ctx context.Context, namespace, name string) (*SourceStatus, error)
	// PauseSource stops reading a source, or resumes it.
	PauseSource(ctx context.Context, namespace, name string, paused bool, act Act) (*Source, error)

	// SavePolicy makes or changes the policy of that namespace, source and origin.
	SavePolicy(ctx context.Context, req PolicyRequest) (*Policy, error)
	DropPolicy(ctx context.Context, namespace, source, origin string, act Act) error
	// Policies returns the policies of a namespace, or all ("").
	Policies(ctx context.Context, namespace string) ([]Policy, error)
}

// RuleBackend is the part of a Backend about rules that put failures into groups.
type RuleBackend interface {
	// SaveRule adds a rule, or a new version of the one of that namespace and name. It applies to new failures, on
	// every node within a second; groups keep their members. CodeInvalid: the details name line and column.
	// CodeExhausted: the namespace has too many rules.
	SaveRule(ctx context.Context, req RuleRequest) (*SavedRule, error)
	// DropRule ends a rule. Its groups and versions stay.
	DropRule(ctx context.Context, namespace, name string, act Act) error
	// Rules returns the rules of a namespace, or all (""), in the order in which they are tried.
	Rules(ctx context.Context, namespace string) ([]SavedRule, error)
	// Rule returns a rule with its versions, even a removed one.
	Rule(ctx context.Context, namespace, name string) (*RuleStory, error)
	// TestRule returns the decisions of a rule, and stores nothing.
	TestRule(ctx context.Context, test RuleTest) (*RuleTrial, error)
}

// WebhookBackend is the part of a Backend about webhooks, which are configuration.
type WebhookBackend interface {
	// Webhooks returns the configured webhooks.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// TestWebhook sends one signed test event to a webhook, and returns the answer.
	TestWebhook(ctx context.Context, name string) (*WebhookAnswer, error)
}

// ReplayBackend is the part of a Backend about replays of topics.
type ReplayBackend interface {
	// PreviewReplay returns the effect of a replay, and stores nothing. It reads up to 10,000 messages, for 5 seconds
	// at most.
	PreviewReplay(ctx context.Context, req TopicReplayRequest) (*ReplayPreview, error)
	// CreateReplay freezes the range: later messages of the topic are not included. CodeInvalid: the details explain
	// the fault of the topic. CodeConflict: the range is empty. CodeUnavailable: the broker does not answer.
	CreateReplay(ctx context.Context, req TopicReplayRequest) (*TopicReplay, error)
	// ActOnReplay starts, pauses, resumes or cancels a replay. CodeWrongState: its state does not allow that.
	ActOnReplay(ctx context.Context, id uuid.UUID, act RedriveAct) (*TopicReplay, error)
	Replay(ctx context.Context, id uuid.UUID) (*TopicReplay, error)
	// Replays returns a page of replays, the newest first.
	Replays(ctx context.Context, filter ReplayFilter) (*ReplayPage, error)
}

// Act is the actor of a change, the reason, and the expected state of the object.
type Act struct {
	Actor   string `json:"actor,omitempty" doc:"Name recorded with the act. Defaults to the name of the API key." maxLength:"255"`
	Reason  string `json:"reason,omitempty" doc:"Reason of the act." maxLength:"4096"`
	IfMatch string `json:"if_match,omitempty" doc:"Expected ETag of the object, or *. If it has changed, the act is refused with conflict." maxLength:"1024"`
}
