package rate

import "time"

// Window counts events in the last slots of a period. NewWindow makes one. Times are microseconds since 1970. It is
// not safe for concurrent use.
type Window struct {
	slot   time.Duration
	counts []int64
	newest int64 // number of the slot counted in last
}

// NewWindow returns a Window of n slots, including the current one.
func NewWindow(slot time.Duration, n int) Window { return Window{slot: slot, counts: make([]int64, n)} }

// turn clears expired slots and returns the number of the current one.
func (w *Window) turn(now int64) int64 {
	s := now / w.slot.Microseconds()
	if s <= w.newest {
		return w.newest // a clock that went back counts in the newest
	}
	n := int64(len(w.counts))
	for i := max(w.newest+1, s-n+1); i <= s; i++ {
		w.counts[i%n] = 0
	}
	w.newest = s
	return s
}

// Add counts n at a time, in microseconds since 1970.
func (w *Window) Add(now int64, n int) {
	s := w.turn(now)
	w.counts[s%int64(len(w.counts))] += int64(n)
}

// Remove takes back n that were counted at a time, unless that slot is over.
func (w *Window) Remove(at int64, n int) {
	s, size := at/w.slot.Microseconds(), int64(len(w.counts))
	if s <= w.newest && s > w.newest-size {
		w.counts[s%size] = max(w.counts[s%size]-int64(n), 0)
	}
}

// Sum counts all slots.
func (w *Window) Sum(now int64) int {
	w.turn(now)
	total := 0
	for _, c := range w.counts {
		total += int(c)
	}
	return total
}

// RoomIn returns the time until n more fit under a limit if nothing else is counted; 0 if they fit now. n must not
// exceed the limit.
func (w *Window) RoomIn(now int64, n, limit int) time.Duration {
	left := w.Sum(now)
	if left+n <= limit {
		return 0
	}
	size := int64(len(w.counts))
	for s := w.newest - size + 1; s <= w.newest; s++ {
		if s < 0 {
			continue
		}
		if left -= int(w.counts[s%size]); left+n <= limit {
			return time.Duration((s+size)*w.slot.Microseconds()-now) * time.Microsecond
		}
	}
	return time.Duration(size) * w.slot
}
