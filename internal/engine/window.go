package engine

import "time"

// window counts what happened in the last slots of a time, in slots of equal
// length. The zero value is not ready; see newWindow.
type window struct {
	slot   time.Duration
	counts []int64
	newest int64 // the number of the slot that was counted in last
}

// newWindow returns a window of n slots, that in progress among them.
func newWindow(slot time.Duration, n int) window { return window{slot: slot, counts: make([]int64, n)} }

// turn forgets the slots that are over, and returns the number of the present one.
func (w *window) turn(now int64) int64 {
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

// add counts n at a time, in microseconds since 1970.
func (w *window) add(now int64, n int) {
	s := w.turn(now)
	w.counts[s%int64(len(w.counts))] += int64(n)
}

// remove takes back n that were counted at a time, unless that is over.
func (w *window) remove(at int64, n int) {
	s, size := at/w.slot.Microseconds(), int64(len(w.counts))
	if s <= w.newest && s > w.newest-size {
		w.counts[s%size] = max(w.counts[s%size]-int64(n), 0)
	}
}

// sum is what was counted in all slots.
func (w *window) sum(now int64) int {
	w.turn(now)
	total := 0
	for _, c := range w.counts {
		total += int(c)
	}
	return total
}

// roomIn returns after what time n more fit under a limit, if nothing else is
// counted meanwhile: 0 when they do now. n must not be over the limit.
func (w *window) roomIn(now int64, n, limit int) time.Duration {
	left := w.sum(now)
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
