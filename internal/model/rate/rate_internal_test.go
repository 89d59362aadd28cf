package rate

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

// No minute and no hour has more than its limit, and a refused user finds room at the announced time.
func TestUserLimitsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		burst, sustained := rapid.IntRange(1, 8).Draw(t, "burst"), rapid.IntRange(1, 20).Draw(t, "sustained")
		l := NewLimits(burst, sustained)
		now := task.Instant(1_760_000_000_000_000)
		who := User{ID: "ann"}
		var taken []task.Instant
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 400_000_000).Draw(t, "pause")) * time.Microsecond)
			n := rapid.IntRange(1, 3).Draw(t, "n")
			hit := l.Take(map[User]int{who: n}, now)
			if hit != nil && !hit.Never {
				if hit.Room <= 0 {
					t.Fatalf("refused, and told to come back in %s", hit.Room)
				}
				now = now.Add(hit.Room)
				if again := l.Take(map[User]int{who: n}, now); again != nil {
					t.Fatalf("told to come back in %s, and refused again: %+v", hit.Room, *again)
				}
				hit = nil
			}
			if hit != nil {
				if n <= min(burst, sustained) {
					t.Fatalf("%d at once can never be: %+v", n, *hit)
				}
				continue
			}
			for range n {
				taken = append(taken, now)
			}
		}
		for i := range taken {
			for span, limit := range map[time.Duration]int{time.Minute: burst, time.Hour: sustained} {
				n := 0
				for _, at := range taken[i:] {
					if at.Sub(taken[i]) < span {
						n++
					}
				}
				if n > limit {
					t.Fatalf("%d tasks within %s of %v; the limit is %d", n, span, taken[i], limit)
				}
			}
		}
	})
}

func TestUsersAreApart(t *testing.T) {
	t.Parallel()
	l, now := NewLimits(1, 0), task.Instant(1_760_000_000_000_000)
	one := func(u User) *Hit { return l.Take(map[User]int{u: 1}, now) }
	for _, u := range []User{{"key", "ann"}, {"key", "bob"}, {"other", "ann"}, {"key", ""}} {
		if hit := one(u); hit != nil {
			t.Errorf("%+v is refused for what others did", u)
		}
		if hit := one(u); hit == nil || hit.Sustained || hit.Room <= 0 || hit.Room > 61*time.Second {
			t.Errorf("%+v is over the limit, and is told %+v", u, hit)
		}
	}
	// one user over the limit: no task of the call is counted
	if l.Take(map[User]int{{"key", "eve"}: 1, {"key", "ann"}: 1}, now) == nil {
		t.Error("ann is over the limit")
	}
	if one(User{"key", "eve"}) != nil {
		t.Error("a task that was refused was counted")
	}
}

func TestUsersAreBounded(t *testing.T) {
	t.Parallel()
	l, now := NewLimits(5, 0), task.Instant(1_760_000_000_000_000)
	for i := range knownUsers + 100 {
		l.Take(map[User]int{{ID: string(rune('a'+i%26)) + time.Duration(i).String()}: 1}, now)
	}
	if n := len(l.users); n > knownUsers+1 {
		t.Errorf("%d users are remembered", n)
	}
	l.Take(map[User]int{{ID: "late"}: 1}, now.Add(3*time.Hour))
	if n := len(l.users); n > 2 {
		t.Errorf("%d users are remembered who did nothing for hours", n)
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	start := task.Instant(1_760_000_000_000_000)
	at := func(d time.Duration) task.Instant { return start.Add(d) }
	near := func(t *testing.T, got, want float64) {
		t.Helper()
		if got < 0.95*want || got > 1.05*want {
			t.Errorf("the rate is %g, want about %g", got, want)
		}
	}
	t.Run("WhileSomebodyWaits", func(t *testing.T) {
		t.Parallel()
		var s Service
		for i := range 100 { // ten every two seconds, all waiting from the beginning
			s.Left(10, start, at(time.Duration(2*i)*time.Second))
		}
		near(t, s.PerSecond(at(200*time.Second)), 5)
	})
	t.Run("AnEmptyQueueSaysNothing", func(t *testing.T) {
		t.Parallel()
		var s Service
		for i := range 100 { // each comes alone and leaves immediately
			now := at(time.Duration(10*i) * time.Second)
			s.Left(1, now, now)
		}
		if r := s.PerSecond(at(1000 * time.Second)); r != 0 {
			t.Errorf("the rate is %g; nobody ever waited", r)
		}
	})
	t.Run("WhatWasLongAgoWeighsLess", func(t *testing.T) {
		t.Parallel()
		var s Service
		for i := range 600 {
			s.Left(1, start, at(time.Duration(i)*time.Second))
		}
		for i := range 6000 {
			s.Left(1, start, at(600*time.Second+time.Duration(i)*100*time.Millisecond))
		}
		near(t, s.PerSecond(at(1200*time.Second)), 10)
	})
	t.Run("ForgottenWhenNothingMoves", func(t *testing.T) {
		t.Parallel()
		var s Service
		s.Left(1, start, at(0))
		s.Left(1, start, at(time.Second))
		near(t, s.PerSecond(at(time.Minute)), 1)
		if r := s.PerSecond(at(time.Hour)); r != 0 {
			t.Errorf("the rate is %g an hour later", r)
		}
	})
	t.Run("OutOfOrder", func(t *testing.T) {
		t.Parallel()
		var s Service
		for i := range 50 {
			s.Left(1, start, at(time.Duration(i)*time.Second))
			s.Left(1, start, at(time.Duration(i)*time.Second-time.Millisecond))
		}
		near(t, s.PerSecond(at(50*time.Second)), 2)
	})
}
