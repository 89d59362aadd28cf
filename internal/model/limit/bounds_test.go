package limit_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/limit"
)

func TestBoundsOfRates(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, ok := range []limit.Rate{{Count: 1, Per: time.Millisecond, Burst: 1}, {Count: 1, Per: 31 * day, Burst: 1},
		{Count: 1_000_000, Per: time.Second, Burst: 1}, {Count: 1, Per: day, Burst: 1_000_000}} {
		if fault := ok.Fault(); fault != "" {
			t.Errorf("%+v %s", ok, fault)
		}
	}
	for bad, says := range map[limit.Rate]string{{Per: day, Burst: 1}: "count",
		{Count: 1_000_001, Per: day, Burst: 1}:          "count",
		{Count: 1, Per: time.Millisecond - 1, Burst: 1}: "period", {Count: 1, Per: 31*day + 1, Burst: 1}: "period",
		{Count: 1, Per: day}: "burst", {Count: 1, Per: day, Burst: 1_000_001}: "burst",
		{Count: 1_000_000, Per: 998 * time.Millisecond, Burst: 1}: "per microsecond"} {
		if fault := bad.Fault(); !strings.Contains(fault, says) {
			t.Errorf("%+v: %q", bad, fault)
		}
	}
	if !(limit.Rate{}).Zero() || (limit.Rate{Count: 1}).Zero() {
		t.Error("the zero rate is none, and no other")
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Minute: "m", 2 * time.Minute: "2m", 48 * time.Hour: "2d",
		90 * time.Second: "90s", 1500 * time.Millisecond: "1500ms", time.Microsecond: "1µs"} {
		if got := limit.Short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestLengthsOfKeys(t *testing.T) {
	t.Parallel()
	key := func(n int) string { return strings.Repeat("x", n) }
	if _, err := limit.ParseKey(key(limit.MaxKey)); err != nil {
		t.Error(err)
	}
	if _, err := limit.ParseKey(key(limit.MaxKey + 1)); err == nil {
		t.Error("a key that is too long is accepted")
	}
	of := func(n int) string { return limit.Key{Texts: []string{key(n)}}.Of(nil) }
	if got := of(limit.MaxValue); got != key(limit.MaxValue) {
		t.Errorf("a text of the greatest length becomes %q", got)
	}
	if got := of(limit.MaxValue + 1); len(got) != limit.MaxValue || !strings.Contains(got, "~") {
		t.Errorf("a longer one becomes %q", got)
	}
}

func TestGateOf(t *testing.T) {
	t.Parallel()
	rate := limit.Rate{Count: 1, Per: time.Second, Burst: 1}
	for _, c := range []struct {
		spec limit.Spec
		want limit.Gate
	}{
		{limit.Spec{Permits: 1, Key: "{{a}}"}, limit.Gate{Name: "concurrency of x", Permits: 1,
			Key: limit.Key{Texts: []string{"", ""}, Paths: [][]string{{"a"}}}}},
		{limit.Spec{Rate: rate, Key: "k"}, limit.Gate{Name: "rate of x", Rate: rate, Key: limit.Key{Texts: []string{"k"}}}},
		{limit.Spec{Rate: rate, Key: "a {{b"}, limit.Gate{Name: "rate of x", Rate: rate,
			Key: limit.Key{Texts: []string{"a {{b"}}}},
	} {
		if got := c.spec.GateOf("x"); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v has the gate %+v, want %+v", c.spec, got, c.want)
		}
	}
}
