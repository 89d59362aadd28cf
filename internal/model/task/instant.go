package task

import "time"

// Instant is a point in time in microseconds since 1970, the resolution of every store. The zero Instant is "not yet"
// or "never".
type Instant int64

// At converts a time; the zero time becomes the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMicro())
}

// shows reports whether the Instant has a form in JSON: years in RFC 3339 have four digits.
func (i Instant) shows() bool { return -62_135_596_800_000_000 < i && i < 253_402_300_800_000_000 }

// Time converts back, in UTC. An Instant without a form in JSON becomes the zero time: only a damaged row holds one,
// and it must not break the list that contains the row.
func (i Instant) Time() time.Time {
	if i == 0 || !i.shows() {
		return time.Time{}
	}
	return time.UnixMicro(int64(i)).UTC()
}

// Ptr returns nil for the zero Instant and for one without a form in JSON.
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
