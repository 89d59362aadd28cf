package task

import "time"

// Instant is a point in time as microseconds since 1970, the resolution that
// every store keeps. The zero Instant is "not yet" or "never".
type Instant int64

// At converts a time; the zero time becomes the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// Time converts back, in UTC.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Ptr returns nil for the zero Instant.
func (i Instant) Ptr() *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}

// Add returns the Instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Microsecond }
