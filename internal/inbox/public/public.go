package public

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
	"github.com/taskerhq/tasker/internal/webhook"
)

// Inbox is the use cases of dead letters, as *inbox.Inbox implements them; see there for their contracts. They limit
// themselves to the namespaces of the key in the context. It consists of a role for each noun.
type Inbox interface {
	Letters
	Groups
	Redrives
	Sources
	Rules
	Webhooks
	Queues
	Topics
	Replays
}

// Replays are the use cases of replays of topics.
type Replays interface {
	PreviewReplay(ctx context.Context, req inbox.ReplayRequest) (*inbox.ReplayPreview, error)
	CreateReplay(ctx context.Context, req inbox.ReplayRequest) (*deadletter.Replay, error)
	ActOnReplay(ctx context.Context, id task.ID, what inbox.RedriveAct, by inbox.By) (*deadletter.Replay, error)
	Replay(ctx context.Context, id task.ID) (*deadletter.Replay, error)
	Replays(ctx context.Context, f inbox.ReplayFilter) ([]*deadletter.Replay, error)
}

// Letters are the use cases of single letters.
type Letters interface {
	// Report captures failures that a program reports, all of them or none.
	Report(ctx context.Context, namespace, source string, reports []inbox.Report) ([]inbox.Receipt, error)
	// Letters returns a page, the newest first.
	Letters(ctx context.Context, f inbox.LetterFilter) (inbox.LetterPage, error)
	// Letter returns a letter with its history, or NotFound.
	Letter(ctx context.Context, id task.ID) (*inbox.LetterStory, error)
	// ExplainLetter returns a letter and why it is in its state, or NotFound.
	ExplainLetter(ctx context.Context, id task.ID) (*deadletter.Letter, deadletter.Explanation, error)
	// EditLetter changes what is sent in place of the original.
	EditLetter(ctx context.Context, id task.ID, edit inbox.LetterEdit) (*deadletter.Letter, error)
	// DiscardLetter gives a letter up, for a reason.
	DiscardLetter(ctx context.Context, id task.ID, by inbox.By) (*deadletter.Letter, error)
	// RestoreLetter opens a letter that was discarded.
	RestoreLetter(ctx context.Context, id task.ID, by inbox.By) (*deadletter.Letter, error)
}

// Groups are the use cases of groups.
type Groups interface {
	// Groups returns a page of the inbox.
	Groups(ctx context.Context, f inbox.GroupFilter, cursor string) (*inbox.GroupPage, error)
	// Group returns a group with its thread and a sample, or NotFound.
	Group(ctx context.Context, id deadletter.GroupID) (*inbox.GroupStory, error)
	// ChangeGroup changes state, owner, runbook or due time, and adds a note.
	ChangeGroup(ctx context.Context, id deadletter.GroupID, ch inbox.GroupChange) (*deadletter.Group, error)
	// ChangeGroups does that to many groups, and tells what became of each.
	ChangeGroups(ctx context.Context, ch inbox.GroupsChange) ([]inbox.GroupResult, error)
	// MergeGroups makes a group show the failures of others as its own.
	MergeGroups(ctx context.Context, into deadletter.GroupID, of []deadletter.GroupID, by inbox.By) (*deadletter.Group,
		error)
	// UnmergeGroup undoes that for one of them.
	UnmergeGroup(ctx context.Context, id deadletter.GroupID, by inbox.By) (*deadletter.Group, error)
	SplitGroup(ctx context.Context, id deadletter.GroupID, req inbox.SplitRequest) (*deadletter.Rule, error)
	UnsplitGroup(ctx context.Context, id deadletter.GroupID, by inbox.By) (*deadletter.Group, error)
}

// Redrives are the use cases of operations on many.
type Redrives interface {
	// PreviewRedrive says what an operation would do, and stores nothing.
	PreviewRedrive(ctx context.Context, req inbox.RedriveRequest) (*inbox.Preview, error)
	// CreateRedrive freezes a selection, and starts on request.
	CreateRedrive(ctx context.Context, req inbox.RedriveRequest) (*deadletter.Redrive, error)
	// ActOnRedrive starts, pauses, resumes or cancels a redrive.
	ActOnRedrive(ctx context.Context, id task.ID, what inbox.RedriveAct, by inbox.By) (*deadletter.Redrive, error)
	// Redrive returns a redrive with its counts, or NotFound.
	Redrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	// ExplainRedrive returns a redrive and why it is in its state, or NotFound.
	ExplainRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, deadletter.Explanation, error)
	// Redrives returns a page, the newest first, without counts.
	Redrives(ctx context.Context, f inbox.RedriveFilter) ([]*deadletter.Redrive, error)
	// RedriveItems returns items above a number, with their results.
	RedriveItems(ctx context.Context, id task.ID, state deadletter.ItemState, above, limit int) ([]deadletter.Item,
		error)
}

// Sources are the use cases of sources and policies.
type Sources interface {
	// SaveSource adds a source, or replaces the settings of one.
	SaveSource(ctx context.Context, s *deadletter.Source, by inbox.By) (*deadletter.Source, error)
	// DropSource removes a source; its letters stay.
	DropSource(ctx context.Context, namespace, name string, by inbox.By) error
	// Sources returns sources and how they stand; "" is all namespaces of the key.
	Sources(ctx context.Context, namespace string) ([]inbox.SourceStatus, error)
	// TestSource asks the broker of a source whether its queue exists.
	Source(ctx context.Context, namespace, name string) (*inbox.SourceStatus, error)
	TestSource(ctx context.Context, namespace, name string) (*inbox.SourceStatus, error)
	// PauseSource stops reading a source, or continues.
	PauseSource(ctx context.Context, namespace, name string, paused bool, by inbox.By) (*deadletter.Source, error)
	// SavePolicy adds or replaces the policy of a source or an origin.
	SavePolicy(ctx context.Context, p *deadletter.Policy, by inbox.By) (*deadletter.Policy, error)
	// DropPolicy removes a policy.
	DropPolicy(ctx context.Context, namespace, source, origin string, by inbox.By) error
	// Policies returns policies; "" is all namespaces of the key.
	Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error)
}

// Rules are the use cases of rules that put failures into groups.
type Rules interface {
	SaveRule(ctx context.Context, r *deadletter.Rule, by inbox.By) (*deadletter.Rule, error)
	RemoveRule(ctx context.Context, namespace, name string, by inbox.By) error
	Rules(ctx context.Context, namespace string) ([]inbox.RuleStatus, error)
	Rule(ctx context.Context, namespace, name string) (*inbox.RuleStory, error)
	TestRule(ctx context.Context, t inbox.RuleTest) (*inbox.RuleTrial, error)
}

// Webhooks are the use cases of webhooks.
type Webhooks interface {
	Endpoints(ctx context.Context) []webhook.Endpoint
	TestWebhook(ctx context.Context, name string) (*inbox.WebhookTest, error)
}

// Backend is a deadletters.Backend on an Inbox. It has no state and is safe for concurrent use.
type Backend struct{ inbox Inbox }

var _ deadletters.Backend = (*Backend)(nil)

// New returns the Backend of an Inbox.
func New(in Inbox) *Backend { return &Backend{in} }

// Page sizes where a caller names none.
const (
	defaultPage      = 50
	defaultItemsPage = 100
)
