package task

// The sort key of a ready step, lowest first, is one number in the claim's index. In strict order it is the band of a
// level, then the ready time.
const (
	MaxPriority = 100
	// timeBits leaves room for microseconds until the year 2112.
	timeBits = 52
)

// StrictKey returns the sort key of a level and ready time.
func StrictKey(level int, t Instant) int64 {
	return int64(MaxPriority-level)<<timeBits | int64(t)
}

func keyTime(key int64) Instant { return Instant(key & (1<<timeBits - 1)) }

// KeyLevel returns the level of a key's band.
func KeyLevel(key int64) int {
	return MaxPriority - int(min(max(key>>timeBits, 0), MaxPriority))
}
