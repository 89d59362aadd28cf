package task

// The ordering key of ready steps is one number; the lowest goes first. It is
// computed once, when a step becomes ready, and is what the claim's index is
// sorted by.
//
// In strict order it is the band of the priority, then the time: higher levels
// always go first, and within a level the first to become ready is the first
// out.
const (
	// MaxPriority is the highest priority level.
	MaxPriority = 100
	// timeBits leaves room for microseconds until the year 2112.
	timeBits = 52
)

// StrictKey returns the ordering key of a step of the given priority level that
// became ready at t.
func StrictKey(priority int, t Instant) int64 {
	return int64(MaxPriority-priority)<<timeBits | int64(t)
}
