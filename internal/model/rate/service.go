package rate

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Service measures how quickly waiters are served: an average in which older observations weigh less. It is not
// safe for concurrent use.
type Service struct {
	last    task.Instant // time of the last service
	n       float64
	seconds float64 // time in which n were served
}

const (
	// rateMemory is the serving time after which an observation weighs 1/e.
	rateMemory = 60 * time.Second
	// rateDecay is the time without service after which the rate is unknown.
	rateDecay = 2 * time.Minute
)

// Observe records that n were served in a period that ends now, during which there were always
// waiters.
func (s *Service) Observe(n int, took time.Duration, now task.Instant) {
	s.observe(n, took)
	s.last = now
}

func (s *Service) observe(n int, took time.Duration) {
	fade := math.Exp(-took.Seconds() / rateMemory.Seconds())
	s.n, s.seconds = s.n*fade+float64(n), s.seconds*fade+took.Seconds()
}

// Left notes that n steps left a queue now, the oldest of which entered at oldest. The time since the last
// departure counts only if that step waited throughout: an empty queue says nothing about speed.
func (s *Service) Left(n int, oldest, now task.Instant) {
	gap := max(now.Sub(s.last), 0) // transactions may end in another order than they began
	switch {
	case s.last == 0 || gap > rateDecay:
		*s = Service{}
	case oldest <= s.last:
		s.observe(n, gap)
	}
	s.last = max(s.last, now)
}

// PerSecond returns the number served per second, 0 if it is unknown.
func (s *Service) PerSecond(now task.Instant) float64 {
	if s == nil || s.seconds <= 0 || s.n < 1 || now.Sub(s.last) > rateDecay {
		return 0
	}
	return s.n / s.seconds
}
