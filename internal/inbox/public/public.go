package public

import (
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/inbox"
)

// Backend is a deadletters.Backend on an Inbox, which limits itself to the namespaces of the key in the context. It has
// no state and is safe for concurrent use.
type Backend struct{ inbox *inbox.Inbox }

var _ deadletters.Backend = (*Backend)(nil)

// New returns the Backend of an Inbox.
func New(in *inbox.Inbox) *Backend { return &Backend{in} }

// Page sizes where a caller names none.
const (
	defaultPage      = 50
	defaultItemsPage = 100
)
