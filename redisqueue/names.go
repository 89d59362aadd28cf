package redisqueue

import "strings"

const (
	// DLQPrefix begins the name of a list of dead letters.
	DLQPrefix = "dlq:"
	// DLQOverflowPrefix begins the name of a list of jobs for which their queue had no room.
	DLQOverflowPrefix = "dlq:overflow:"
)

// DLQName returns the list of dead letters of a queue: dlq: before its name, unless it begins with that.
func DLQName(queue string) string {
	if strings.HasPrefix(queue, DLQPrefix) {
		return queue
	}
	return DLQPrefix + queue
}

// DLQOverflowName returns the list of jobs for which a queue had no room. A queue and its list of dead letters share
// it.
func DLQOverflowName(queue string) string {
	queue = strings.TrimPrefix(queue, DLQPrefix)
	return DLQOverflowPrefix + strings.TrimPrefix(queue, "overflow:")
}
