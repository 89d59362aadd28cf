package desk

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Observer counts letters for metrics, by batch, after its commit. Methods are called concurrently and must not block.
type Observer interface {
	// Captured gets the age of each message's death; outcome is a CaptureStatus.
	Captured(namespace, source, origin, eventType, outcome string, ages []time.Duration)
	// Sent counts sends of policies and redrives. result is sent, unknown, failed or not_tried.
	Sent(namespace, source, origin, result string, letters int)
	Discarded(namespace, source, origin, reason string, letters int)
	// Replayed counts messages that replays stored. result is letter, task, known or gone.
	Replayed(namespace, source, result string, messages int64)
	ReplayEntered(namespace, source, state string)
	Took(operation string, d time.Duration)
	// Failed counts batches that could not be stored: a capture, or the mark or record of sends.
	Failed(operation string, code task.Code)
}

type unobserved struct{}

func (unobserved) Captured(string, string, string, string, string, []time.Duration) {}
func (unobserved) Sent(string, string, string, string, int)                         {}
func (unobserved) Discarded(string, string, string, string, int)                    {}
func (unobserved) Replayed(string, string, string, int64)                           {}
func (unobserved) ReplayEntered(string, string, string)                             {}
func (unobserved) Took(string, time.Duration)                                       {}
func (unobserved) Failed(string, task.Code)                                         {}

// ObservedCapture and ObservedSend are the operations that an Observer hears of.
const ObservedCapture, ObservedSend = "capture", "send"

// Observed tells the Observer how long an operation took, and whether it failed.
func (in *Desk) Observed(operation string, began time.Time, err error) {
	in.Observer.Took(operation, time.Since(began))
	in.ObserveFailure(operation, err)
}

// ObserveFailure tells the Observer of a failed operation.
func (in *Desk) ObserveFailure(operation string, err error) {
	if err != nil {
		in.Observer.Failed(operation, task.CodeOf(err))
	}
}
