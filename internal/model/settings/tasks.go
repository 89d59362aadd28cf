package settings

import "github.com/taskerhq/tasker/internal/model/task"

// Limits of a submission.
const (
	// MaxTimeout bounds one attempt, in templates and submissions.
	MaxTimeout = task.MaxDelay
	// MaxRetries bounds the retries of a step.
	MaxRetries = 1000
)

// KeyMismatch is the answer to a submission whose idempotency key names a task with another body.
type KeyMismatch string

// The answers.
const (
	MismatchConflict KeyMismatch = "conflict" // a Conflict error
	MismatchAccept   KeyMismatch = "accept"   // the task of the key
)
