package task

// The sort key of a ready step is one number, the lowest first; the claim's index sorts by it. In strict order it
// is the band of a level, then the ready time: higher levels first, first in, first out within a level.
const (
	// MaxPriority is the highest priority level.
	MaxPriority = 100
	// timeBits leaves room for microseconds until the year 2112.
	timeBits = 52
)

// StrictKey returns the sort key of a level and ready time.
func StrictKey(level int, t Instant) int64 {
	return int64(MaxPriority-level)<<timeBits | int64(t)
}

// keyTime returns the time in a key: in strict order, the effective ready time.
func keyTime(key int64) Instant { return Instant(key & (1<<timeBits - 1)) }

// KeyLevel returns the level of a key's band.
func KeyLevel(key int64) int {
	return MaxPriority - int(min(max(key>>timeBits, 0), MaxPriority))
}
