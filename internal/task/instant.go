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

// shows reports whether the Instant has a form in JSON: RFC 3339 has years of four
// digits.
func (i Instant) shows() bool { return -62_135_596_800_000_000 < i && i < 253_402_300_800_000_000 }

// Time converts back, in UTC. An Instant that has no form in JSON becomes the zero time:
// only a damaged row holds one, and it must not break the list that the row is in.
func (i Instant) Time() time.Time {
	if i == 0 || !i.shows() {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Ptr returns nil for the zero Instant, and for one that has no form in JSON.
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
