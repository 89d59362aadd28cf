package limit

import (
	"fmt"
	"time"
)

// Rate allows Count passes in each Per, evenly spread, and a burst of up to Burst after a pause. The zero Rate sets
// no limit.
type Rate struct {
	Count int           `json:"count,omitempty"`
	Per   time.Duration `json:"per,omitempty"`
	Burst int           `json:"burst,omitempty"`
}

// Bounds of a rate. A pass takes at least a microsecond, so that times can count passes.
const (
	MaxCount = 1_000_000
	MaxBurst = 1_000_000
	MinPer   = time.Millisecond
	MaxPer   = 31 * 24 * time.Hour
)

// Zero reports whether there is no limit.
func (r Rate) Zero() bool { return r.Count <= 0 }

// Fault explains an invalid rate; "" for a valid one.
func (r Rate) Fault() string {
	switch {
	case r.Count < 1 || r.Count > MaxCount:
		return fmt.Sprintf("the count must be 1 to %d", MaxCount)
	case r.Per < MinPer || r.Per > MaxPer:
		return fmt.Sprintf("the period must be %s to %s", MinPer, MaxPer)
	case r.Burst < 1 || r.Burst > MaxBurst:
		return fmt.Sprintf("the burst must be 1 to %d", MaxBurst)
	case r.every() < time.Microsecond:
		return "the rate must be at most one per microsecond"
	}
	return ""
}

// String formats the rate for people.
func (r Rate) String() string {
	s := fmt.Sprintf("%d/%s", r.Count, Short(r.Per))
	if r.Burst != r.Count {
		s += fmt.Sprintf(" with bursts of %d", r.Burst)
	}
	return s
}

// Short formats a duration without zero parts: 1m for 1m0s.
func Short(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if d >= unit.d && d%unit.d == 0 {
			if d == unit.d {
				return unit.name
			}
			return fmt.Sprintf("%d%s", d/unit.d, unit.name)
		}
	}
	return d.String()
}

// every is rounded up, so that the rate is never exceeded.
func (r Rate) every() time.Duration {
	return (r.Per + time.Duration(r.Count) - 1) / time.Duration(r.Count)
}

// Bucket is the time, in nanoseconds, at which the bucket of a rate is full again; the zero Bucket is full. This is
// the generic cell rate algorithm, which needs no refill.
type Bucket int64

// Free returns how many steps may pass at a time in nanoseconds.
func (r Rate) Free(b Bucket, now int64) int {
	full := r.full(b, now)
	room := now + int64(r.Burst)*int64(r.every()) - full
	return int(min(max(room/int64(r.every()), 0), int64(r.Burst)))
}

// Take returns the bucket after n steps have passed.
func (r Rate) Take(b Bucket, now int64, n int) Bucket {
	return Bucket(r.full(b, now) + int64(n)*int64(r.every()))
}

// Cost is the time that one pass adds to a bucket.
func (r Rate) Cost() Bucket { return Bucket(r.every()) }

// full is when the bucket is full again. A bucket further ahead than its burst comes from a wrong clock and counts
// as empty. The extra second allows for differing clocks.
func (r Rate) full(b Bucket, now int64) int64 {
	empty := now + int64(r.Burst)*int64(r.every())
	if int64(b) > empty+int64(time.Second) {
		return empty
	}
	return max(int64(b), now)
}

// Spend returns the bucket as if n steps passed now, unless it already counts them.
func (r Rate) Spend(b Bucket, now int64, n int) Bucket {
	if n <= 0 {
		return b
	}
	return max(b, Bucket(now+int64(n)*int64(r.every())))
}

// Next returns when a step may pass, in nanoseconds; now if it may immediately.
func (r Rate) Next(b Bucket, now int64) int64 {
	return max(r.full(b, now)+int64(r.every())-int64(r.Burst)*int64(r.every()), now)
}
