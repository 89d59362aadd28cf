package failure_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
)

func TestClassOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		of   failure.Report
		want failure.Class
	}{
		{"Unknown", failure.Report{Message: "connection refused", Retryable: true}, failure.Transient},
		{"Final", failure.Report{Code: "TIMEOUT"}, failure.Logic},
		{"Named", failure.Report{Code: "TIMEOUT", Class: failure.Worker, Retryable: true}, failure.Worker},
		{"NamedAndFinal", failure.Report{Class: failure.Resource}, failure.Resource},
		{"NamedUnknown", failure.Report{Class: "postage", Code: "OOM", Retryable: true}, failure.Resource},
		{"Timeout", failure.Report{Code: "TIMEOUT", Retryable: true}, failure.Resource},
		{"TimeoutType", failure.Report{Type: "timeout", Retryable: true}, failure.Resource},
		{"Hyphens", failure.Report{Code: "out-of-memory", Retryable: true}, failure.Resource},
		{"Spaces", failure.Report{Type: "lease expired", Retryable: true}, failure.Worker},
		{"WorkerOutOfMemory", failure.Report{Code: "WORKER_OOM", Retryable: true}, failure.Resource},
		{"NoHandler", failure.Report{Type: "unknown_handler", Retryable: true}, failure.Worker},
		{"WorkerLost", failure.Report{Code: "WORKER_LOST", Retryable: true}, failure.Worker},
		{"LeaseExpired", failure.Report{Type: "lease_expired", Retryable: true}, failure.Worker},
		{"CodeBeforeType", failure.Report{Type: "timeout", Code: "WORKER_LOST", Retryable: true}, failure.Worker},
		{"CodeUnknown", failure.Report{Type: "timeout", Code: "E42", Retryable: true}, failure.Resource},
		{"PartOfAWord", failure.Report{Type: "net.TimeoutError", Code: "ROOM", Retryable: true}, failure.Transient},
		{"RateLimit", failure.Report{Code: "RATE_LIMIT", Retryable: true}, failure.Transient},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := failure.ClassOf(c.of); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestClassByWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   failure.Report
		want failure.Class
	}{
		{failure.Report{Code: "OOM"}, failure.Resource},
		{failure.Report{Code: "OOM", Class: failure.Logic}, failure.Resource},
		{failure.Report{Type: "worker"}, failure.Worker},
		{failure.Report{Message: "OOM", Retryable: true}, ""},
		{failure.Report{}, ""},
	} {
		if got := failure.ClassByWord(c.of); got != c.want {
			t.Errorf("%+v: %q, want %q", c.of, got, c.want)
		}
	}
}

func TestOverloaded(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"RATE_LIMIT": true, "rate-limited": true, "temporarily unavailable": true, "TEMPORARY_UNAVAILABLE": true,
		"RATE": false, "UNAVAILABLE": false, "": false,
	} {
		if got := failure.Overloaded(failure.Report{Type: "RATE_LIMIT", Code: code}); got != want {
			t.Errorf("%q: %t, want %t", code, got, want)
		}
	}
}

func TestClassOfIsStable(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"", "x", "TIMEOUT", "oom", "WORKER_LOST", "lease_expired", "RATE_LIMIT"})
	rapid.Check(t, func(t *rapid.T) {
		r := failure.Report{Type: words.Draw(t, "type"), Code: words.Draw(t, "code"), Retryable: rapid.Bool().Draw(t,
			"retryable")}
		first := failure.ClassOf(r)
		r.Class = first
		if second := failure.ClassOf(r); !first.Known() || second != first {
			t.Fatalf("%s, then %s", first, second)
		}
	})
}
