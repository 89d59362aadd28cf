package public

import (
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/inbox"
)

// backend is a deadletters.Backend on an Inbox, which limits itself to the namespaces of the key in the context. It has
// no state and is safe for concurrent use. Comments tell what a method adds to its contract.
type backend struct{ inbox *inbox.Inbox }

// New returns the Backend of an Inbox.
func New(in *inbox.Inbox) deadletters.Backend { return &backend{in} }

// Page sizes where a caller names none.
const (
	defaultPage      = 50
	defaultItemsPage = 100
)
