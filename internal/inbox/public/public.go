package public

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// Inbox is the use cases of dead letters, as *inbox.Inbox implements them; see there for their contracts. They limit
// themselves to the namespaces of the key in the context. It consists of a role for each noun.
type Inbox interface {
	Letters
	Groups
	Redrives
	Sources
}

// Letters are the use cases of single letters.
type Letters interface {
	Report(ctx context.Context, namespace, source string, reports []inbox.Report) ([]inbox.Receipt, error)
	Letters(ctx context.Context, f inbox.LetterFilter) (inbox.LetterPage, error)
	Letter(ctx context.Context, id task.ID) (*inbox.LetterStory, error)
	EditLetter(ctx context.Context, id task.ID, edit inbox.LetterEdit) (*deadletter.Letter, error)
	DiscardLetter(ctx context.Context, id task.ID, by inbox.By) (*deadletter.Letter, error)
	RestoreLetter(ctx context.Context, id task.ID, by inbox.By) (*deadletter.Letter, error)
}

// Groups are the use cases of groups.
type Groups interface {
	Groups(ctx context.Context, f inbox.GroupFilter, cursor string) (*inbox.GroupPage, error)
	Group(ctx context.Context, id deadletter.GroupID) (*inbox.GroupStory, error)
	ChangeGroup(ctx context.Context, id deadletter.GroupID, ch inbox.GroupChange) (*deadletter.Group, error)
	MergeGroups(ctx context.Context, into deadletter.GroupID, of []deadletter.GroupID, by inbox.By) (*deadletter.Group,
		error)
	UnmergeGroup(ctx context.Context, id deadletter.GroupID, by inbox.By) (*deadletter.Group, error)
}

// Redrives are the use cases of operations on many.
type Redrives interface {
	PreviewRedrive(ctx context.Context, req inbox.RedriveRequest) (*inbox.Preview, error)
	CreateRedrive(ctx context.Context, req inbox.RedriveRequest) (*deadletter.Redrive, error)
	ActOnRedrive(ctx context.Context, id task.ID, what inbox.RedriveAct, by inbox.By) (*deadletter.Redrive, error)
	Redrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error)
	Redrives(ctx context.Context, f inbox.RedriveFilter) ([]*deadletter.Redrive, error)
	RedriveItems(ctx context.Context, id task.ID, state deadletter.ItemState, above, limit int) ([]deadletter.Item,
		error)
}

// Sources are the use cases of sources and policies.
type Sources interface {
	SaveSource(ctx context.Context, s *deadletter.Source, by inbox.By) (*deadletter.Source, error)
	DropSource(ctx context.Context, namespace, name string, by inbox.By) error
	Sources(ctx context.Context, namespace string) ([]inbox.SourceStatus, error)
	TestSource(ctx context.Context, namespace, name string) (*inbox.SourceStatus, error)
	PauseSource(ctx context.Context, namespace, name string, paused bool, by inbox.By) (*deadletter.Source, error)
	SavePolicy(ctx context.Context, p *deadletter.Policy, by inbox.By) (*deadletter.Policy, error)
	DropPolicy(ctx context.Context, namespace, source, origin string, by inbox.By) error
	Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error)
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
