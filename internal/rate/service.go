package rate

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// Service is how quickly something is served while somebody waits for it: an average in
// which what was long ago weighs less. The zero value knows nothing. It is not safe for
// concurrent use.
type Service struct {
	last    task.Instant // when something was served last
	n       float64
	seconds float64 // of those in which n were served
}

const (
	// rateMemory is the time of serving after which an observation weighs 1/e.
	rateMemory = 60 * time.Second
	// rateDecay is after how long without any service a rate is not known any more.
	rateDecay = 2 * time.Minute
)

// Observe notes that n were served in a time that ends now, in which somebody waited all
// along.
func (s *Service) Observe(n int, took time.Duration, now task.Instant) {
	s.observe(n, took)
	s.last = now
}

func (s *Service) observe(n int, took time.Duration) {
	fade := math.Exp(-took.Seconds() / rateMemory.Seconds())
	s.n, s.seconds = s.n*fade+float64(n), s.seconds*fade+took.Seconds()
}

// Left notes that n steps left a queue at a time, of which the oldest had been
// there since another. The time since the last ones left counts only if that one was
// waiting all along: how long an empty queue stays empty says nothing about how
// quickly a full one is served.
func (s *Service) Left(n int, oldest, now task.Instant) {
	gap := max(now.Sub(s.last), 0) // two transactions may end in another order than they began
	switch {
	case s.last == 0 || gap > rateDecay:
		*s = Service{}
	case oldest <= s.last:
		s.observe(n, gap)
	}
	s.last = max(s.last, now)
}

// PerSecond is how many are served in a second; 0 when that is not known.
func (s *Service) PerSecond(now task.Instant) float64 {
	if s == nil || s.seconds <= 0 || s.n < 1 || now.Sub(s.last) > rateDecay {
		return 0
	}
	return s.n / s.seconds
}
