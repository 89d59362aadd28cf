package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	ms   = time.Millisecond
	s    = time.Second
	half = 0.5 // the roll that adds no jitter
)

func TestDelay(t *testing.T) {
	t.Parallel()
	capped := task.Retry{Backoff: task.BackoffExponential, Base: 1000 * ms, Max: 30_000 * ms}
	for _, c := range []struct {
		name       string
		policy     task.Retry
		retryAfter time.Duration
		roll       float64
		want       []time.Duration
	}{
		{"Exponential", capped, 0, half, []time.Duration{1 * s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		{"Linear", task.Retry{Backoff: task.BackoffLinear, Base: 2 * s, Max: 7 * s}, 0, half,
			[]time.Duration{2 * s, 4 * s, 6 * s, 7 * s, 7 * s}},
		{"Fixed", task.Retry{Backoff: task.BackoffFixed, Base: 3 * s}, 0, half, []time.Duration{3 * s, 3 * s, 3 * s}},
		{"FixedAboveMax", task.Retry{Backoff: task.BackoffFixed, Base: 3 * s, Max: s}, 0, half, []time.Duration{s, s}},
		{"None", task.Retry{Backoff: task.BackoffNone, Base: 3 * s, Jitter: 1}, 0, half, []time.Duration{0, 0, 0}},
		{"NoneWithRetryAfter", task.Retry{Backoff: task.BackoffNone}, 5 * s, half, []time.Duration{5 * s, 5 * s}},
		{"RetryAfterIsTheLeast", capped, 3 * s, half, []time.Duration{3 * s, 3 * s, 4 * s, 8 * s}},
		{"RetryAfterBeatsMax", capped, time.Minute, half, []time.Duration{time.Minute, time.Minute}},
		{"RetryAfterIsCapped", capped, 90 * 24 * time.Hour, half, []time.Duration{720 * time.Hour}},
		{"NegativeRetryAfter", capped, -time.Hour, half, []time.Duration{1 * s, 2 * s}},
		{"JitterLow", withJitter(capped, 0.1), 0, 0, []time.Duration{900 * ms, 1800 * ms, 3600 * ms}},
		{"JitterHigh", withJitter(capped, 0.1), 0, 0.75, []time.Duration{1050 * ms, 2100 * ms, 4200 * ms}},
		{"JitterAroundMax", withJitter(capped, 0.1), 0, 0.75,
			[]time.Duration{1050 * ms, 2100 * ms, 4200 * ms, 8400 * ms, 16800 * ms, 31500 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for i, want := range c.want {
				if got := c.policy.Delay(i+1, c.retryAfter, c.roll); got != want {
					t.Errorf("after attempt %d: %s, want %s", i+1, got, want)
				}
			}
		})
	}
}

func withJitter(r task.Retry, jitter float64) task.Retry {
	r.Jitter = jitter
	return r
}

func TestDelayAfter(t *testing.T) {
	t.Parallel()
	policy := task.Retry{Backoff: task.BackoffExponential, Base: 4 * s, Max: 5 * s}
	for _, c := range []struct {
		name string
		f    task.Failure
		want []time.Duration
	}{
		{"Plain", task.Failure{Code: "BUSY"}, []time.Duration{4 * s, 5 * s, 5 * s}},
		{"RateLimit", task.Failure{Code: "RATE_LIMIT"}, []time.Duration{8 * s, 10 * s, 10 * s}},
		{"TemporaryUnavailable", task.Failure{Code: "Temporary-Unavailable"}, []time.Duration{8 * s, 10 * s, 10 * s}},
		{"OnlyTheCodeCounts", task.Failure{Type: "RATE_LIMIT"}, []time.Duration{4 * s, 5 * s, 5 * s}},
		{"RetryAfterIsNotDoubled", task.Failure{Code: "RATE_LIMIT", RetryAfterMS: 9000},
			[]time.Duration{9 * s, 10 * s, 10 * s}},
		{"RetryAfterIsCapped", task.Failure{RetryAfterMS: 1 << 62}, []time.Duration{task.MaxDelay}},
		{"NegativeRetryAfter", task.Failure{RetryAfterMS: -1}, []time.Duration{4 * s}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for i, want := range c.want {
				if got := policy.DelayAfter(&c.f, i+1, half); got != want {
					t.Errorf("after attempt %d: %s, want %s", i+1, got, want)
				}
			}
		})
	}
	longest := task.Retry{Backoff: task.BackoffFixed, Base: task.MaxDelay}
	if got := longest.DelayAfter(&task.Failure{Code: "RATE_LIMIT"}, 1, half); got != task.MaxDelay {
		t.Errorf("twice the longest is %s", got)
	}
}

func TestDelayExtremes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		policy   task.Retry
		attempts int
		want     time.Duration
	}{
		{"ManyAttempts", task.DefaultRetry(), 1 << 40, task.MaxDelay},
		{"ManyAttemptsOfNothing", task.Retry{Backoff: task.BackoffExponential}, 5000, 0},
		{"LinearManyAttempts", task.Retry{Backoff: task.BackoffLinear, Base: s}, 100, 100 * s},
		{"NoAttempt", task.Retry{Backoff: task.BackoffExponential, Base: s}, 0, s},
		{"UnknownStrategy", task.Retry{Backoff: "hyperbolic", Base: s}, 1, 0},
	} {
		if got := c.policy.Delay(c.attempts, 0, half); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestDefaultRetry(t *testing.T) {
	t.Parallel()
	want := task.Retry{Retryable: true, Backoff: task.BackoffExponential, Base: time.Second, Jitter: 0.1}
	if got := task.DefaultRetry(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	silent := task.DefaultRetry()
	said := silent
	said.BaseSaid, said.JitterSaid = true, true
	other := silent
	other.Base, other.Jitter = 2*time.Second, 0
	for _, c := range []struct {
		name   string
		policy task.Retry
		base   time.Duration
		jitter float64
	}{
		{"Silent", silent, time.Minute, 0.5},
		{"DefaultsWrittenOut", said, time.Second, 0.1},
		{"OtherThanTheDefaults", other, 2 * time.Second, 0},
	} {
		got := c.policy.Over(time.Minute, 0.5)
		if got.Base != c.base || got.Jitter != c.jitter {
			t.Errorf("%s: base %s, jitter %v; want %s, %v", c.name, got.Base, got.Jitter, c.base, c.jitter)
		}
	}
}

// The delay stays within base ± jitter, above Retry-After and below the caps.
func TestDelayBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := task.Retry{
			Backoff: rapid.SampledFrom(task.Backoffs).Draw(t, "backoff"),
			Base:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base")),
			Max:     time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "max")),
			Jitter:  rapid.Float64Range(0, 1).Draw(t, "jitter"),
		}
		attempts := rapid.IntRange(1, 200).Draw(t, "attempts")
		after := time.Duration(rapid.Int64Range(0, int64(60*24*time.Hour)).Draw(t, "retryAfter"))
		roll := rapid.Float64Range(0, 0.999999).Draw(t, "roll")

		plain := withJitter(p, 0)
		center := plain.Delay(attempts, 0, roll)
		got := p.Delay(attempts, after, roll)
		// both delays are rounded to microseconds, and jitter can double the rounding of center
		const slack = 2 * time.Microsecond
		low := time.Duration(float64(center)*(1-p.Jitter)) - slack
		high := time.Duration(float64(center)*(1+p.Jitter)) + slack
		switch {
		case got > task.MaxDelay:
			t.Fatalf("%s is over the greatest delay", got)
		case got < min(after, task.MaxDelay)-time.Microsecond:
			t.Fatalf("%s is under the Retry-After of %s", got, after)
		case got > max(high, after+time.Microsecond), got < low && got < task.MaxDelay:
			t.Fatalf("%s is outside %s to %s and not the Retry-After %s", got, low, high, after)
		}
		if next := plain.Delay(attempts+1, 0, roll); next < center {
			t.Fatalf("attempt %d waits %s, attempt %d only %s", attempts, center, attempts+1, next)
		}
		if p.Max > 0 && center > p.Max+time.Microsecond {
			t.Fatalf("%s is over the cap %s", center, p.Max)
		}
	})
}

// After an overload the delay doubles within Retry-After and the cap.
func TestDelayAfterBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := task.Retry{Backoff: rapid.SampledFrom(task.Backoffs).Draw(t, "backoff"),
			Base:   time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base")),
			Max:    time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "max")),
			Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter")}
		f := task.Failure{Code: rapid.SampledFrom([]string{"", "BUSY", "RATE_LIMIT", "temporary unavailable"}).Draw(t,
			"code"),
			RetryAfterMS: rapid.Int64Range(-1, 60*24*3600*1000).Draw(t, "retryAfter")}
		attempts, roll := rapid.IntRange(1, 200).Draw(t, "attempts"), rapid.Float64Range(0, 0.999999).Draw(t, "roll")
		asked := min(time.Duration(max(f.RetryAfterMS, 0))*time.Millisecond, task.MaxDelay)
		plain := p.Delay(attempts, 0, roll)
		if f.Code != "" && f.Code != "BUSY" {
			plain = min(2*plain, task.MaxDelay)
		}
		if got, want := p.DelayAfter(&f, attempts, roll), max(plain, asked); got != want {
			t.Fatalf("%+v: %s, want %s", f, got, want)
		}
	})
}
