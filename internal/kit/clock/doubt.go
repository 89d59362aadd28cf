package clock

import "time"

const (
	// tolerance is the difference of two clocks from which it counts as a step. Slewing stays far below it.
	tolerance = time.Second
	// settle is how long a step must last to be believed.
	settle = time.Minute
	// maxSteps bounds the separately remembered steps.
	maxSteps = 64
)

// doubt is a step of the authority that is not believed yet; zero for none.
type doubt struct {
	apart time.Duration // how far the authority is ahead of the time in use
	since time.Duration // the monotonic time of its discovery
}

// holds notes that the authority is apart at the monotonic time mono, and reports whether that has lasted long enough.
// slack is the error of the measurement.
func (d *doubt) holds(apart, slack, mono time.Duration) bool {
	if d.apart == 0 || (apart-d.apart).Abs() > tolerance+slack {
		*d = doubt{apart, mono}
	}
	return mono-d.since >= settle
}

// steps are the believed corrections beyond the tolerance, newest last.
type steps []step

type step struct {
	from time.Time // the clock before the step
	by   time.Duration
}

func (s *steps) add(from time.Time, by time.Duration) {
	*s = append(*s, step{from, by})
	*s = (*s)[max(0, len(*s)-maxSteps):]
}

// since returns how far the clock was put forward since a time that it showed.
func (s steps) since(t time.Time) (sum time.Duration) {
	for _, s := range s {
		if s.by > 0 && !s.from.Before(t) {
			sum += s.by
		}
	}
	return sum
}
