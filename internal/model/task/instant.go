package task

import "time"

// Instant is a time in microseconds since 1970. Zero is "not yet" or "never".
type Instant int64

// At converts a time; the zero time becomes the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// Years in RFC 3339 have four digits.
func (i Instant) shows() bool { return -62_135_596_800_000_000 < i && i < 253_402_300_800_000_000 }

// Time converts to UTC. A value without a form in JSON, from a damaged row, becomes the zero time.
func (i Instant) Time() time.Time {
	if i == 0 || !i.shows() {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Ptr returns nil for zero and for an Instant without a form in JSON.
func (i Instant) Ptr() *time.Time {
	if i == 0 || !i.shows() {
		return nil
	}
	t := i.Time()
	return &t
}

// Add returns the Instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Microseconds()) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Microsecond }
