package task

// The sort key of a ready step is one number; the lowest comes first. The index of the claim is sorted by it. A key
// of strict order is the band of a level, then the time at which the step became ready: higher levels always come
// first, and within a level the order is first in, first out.
const (
	// MaxPriority is the highest priority level.
	MaxPriority = 100
	// timeBits leaves room for microseconds until the year 2112.
	timeBits = 52
)

// StrictKey returns the sort key of a step of the given priority level that became ready at t.
func StrictKey(level int, t Instant) int64 {
	return int64(MaxPriority-level)<<timeBits | int64(t)
}

// keyTime returns the time in a key: in strict order the time since which its step counts as ready.
func keyTime(key int64) Instant { return Instant(key & (1<<timeBits - 1)) }

// KeyLevel returns the level of the band that contains a key.
func KeyLevel(key int64) int {
	return MaxPriority - int(min(max(key>>timeBits, 0), MaxPriority))
}
