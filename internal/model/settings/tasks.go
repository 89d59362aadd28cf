package settings

import "github.com/taskerhq/tasker/internal/model/task"

// Limits of what a submission may ask for.
const (
	// MaxTimeout bounds the run of one attempt, by a template and by a submission.
	MaxTimeout = task.MaxDelay
	// MaxRetries bounds the retries of a step.
	MaxRetries = 1000
)

// KeyMismatch says what a submission is answered whose idempotency key names a task
// that was submitted with another body.
type KeyMismatch string

// The answers.
const (
	MismatchConflict KeyMismatch = "conflict" // a Conflict error
	MismatchAccept   KeyMismatch = "accept"   // the task that the key names
)
