package inbox

import "github.com/taskerhq/tasker/internal/inbox/desk"

// What callers name of the rooms.
type (
	By       = desk.By
	Observer = desk.Observer
)
