package limit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/limit"
)

// In no window do more steps pass than the burst and the rate give; a waiting step passes at Next, not before.
func TestRateIsNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := limit.Rate{Count: rapid.IntRange(1, 1000).Draw(t, "count"), Burst: rapid.IntRange(1, 50).Draw(t, "burst"),
			Per: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)).Draw(t, "per"))}
		if r.Fault() != "" {
			t.Skip(r.Fault())
		}
		var b limit.Bucket
		now := int64(1_700_000_000_000_000_000)
		var passes []int64
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			if rapid.Bool().Draw(t, "on time") {
				now = r.Next(b, now)
				if r.Free(b, now) == 0 {
					t.Fatalf("nobody may pass at the time that Next names: %+v %d", r, b)
				}
			} else {
				now += rapid.Int64Range(0, int64(r.Per)).Draw(t, "pause")
				if next := r.Next(b, now); next > now && (r.Free(b, now) > 0 || r.Free(b, next-1) > 0) {
					t.Fatalf("a step may pass before the time that Next names: %+v %d", r, b)
				}
			}
			n := rapid.IntRange(0, r.Free(b, now)).Draw(t, "n")
			b = r.Take(b, now, n)
			for range n {
				passes = append(passes, now)
			}
		}
		for i := range passes {
			for j := i; j < len(passes); j++ {
				window := time.Duration(passes[j] - passes[i])
				most := float64(r.Burst) + float64(window)/float64(r.Per)*float64(r.Count)
				if n := j - i + 1; float64(n) > most+1e-9 {
					t.Fatalf("%d steps passed within %s; at most %.2f may (%+v)", n, window, most, r)
				}
			}
		}
	})
}

// The same holds for steps that begin, however long they wait for a worker, if each look counts the waiting ones
// and those begun since the last look.
func TestRateCountsWhatBegins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := limit.Rate{Count: rapid.IntRange(1, 20).Draw(t, "count"), Burst: rapid.IntRange(1, 6).Draw(t, "burst"),
			Per: time.Second}
		var b limit.Bucket
		var begins []int64
		waiting, begun, now := 0, 0, int64(time.Hour)
		for range rapid.IntRange(1, 60).Draw(t, "acts") {
			now += rapid.Int64Range(0, int64(r.Per)).Draw(t, "pause")
			if n := rapid.IntRange(0, waiting).Draw(t, "begin"); n > 0 {
				waiting, begun = waiting-n, begun+n
				for range n {
					begins = append(begins, now)
				}
				now += rapid.Int64Range(0, int64(r.Per)/10).Draw(t, "lag")
			}
			if rapid.Bool().Draw(t, "look") {
				b = r.Spend(b, now, begun+waiting)
				n := rapid.IntRange(0, r.Free(b, now)).Draw(t, "pass")
				b, waiting, begun = r.Take(b, now, n), waiting+n, 0
			}
			if waiting+begun > r.Burst {
				t.Fatalf("%d of %d wait", waiting+begun, r.Burst)
			}
		}
		for i := range begins {
			for j := i; j < len(begins); j++ {
				window := time.Duration(begins[j] - begins[i])
				most := float64(r.Burst) + float64(window)/float64(r.Per)*float64(r.Count)
				if n := j - i + 1; float64(n) > most+1e-6 {
					t.Fatalf("%d steps began within %s; at most %.2f may (%+v)", n, window, most, r)
				}
			}
		}
	})
}

func TestRateIsReached(t *testing.T) {
	t.Parallel()
	r := limit.Rate{Count: 10, Per: time.Second, Burst: 20}
	var b limit.Bucket
	now := int64(time.Hour)
	if n := r.Free(b, now); n != 20 {
		t.Fatalf("a full bucket has %d", n)
	}
	b = r.Take(b, now, 20)
	passed := 0
	for range 100 {
		now = r.Next(b, now)
		n := r.Free(b, now)
		b, passed = r.Take(b, now, n), passed+n
	}
	if took := time.Duration(now) - time.Hour; passed != 100 || took != 10*time.Second {
		t.Errorf("%d steps passed in %s; want 100 in 10s", passed, took)
	}
	if s := r.String(); s != "10/s with bursts of 20" {
		t.Errorf("it is written %q", s)
	}
}

func TestRateFaults(t *testing.T) {
	t.Parallel()
	for _, r := range []limit.Rate{{}, {Count: 1, Per: time.Second}, {Count: 1, Burst: 1}, {Count: -1, Per: 1, Burst: 1},
		{Count: limit.MaxCount + 1, Per: time.Hour, Burst: 1}, {Count: 2, Per: 365 * 24 * time.Hour, Burst: 1},
		{Count: 1_000_000, Per: time.Millisecond, Burst: 1}, {Count: 1, Per: time.Second, Burst: limit.MaxBurst + 1}} {
		if r.Fault() == "" {
			t.Errorf("%+v is accepted", r)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	const context = `{"customer": 42, "order": {"region": "eu", "items": [{"sku": "a"}]}, "vip": true, "nothing": null,
"big": 12345678901234567890, "name": "a\u0000b", "list": [1,2]}`
	for key, want := range map[string]string{
		"":                               "",
		"all":                            "all",
		"{{customer}}":                   "customer=42",
		"{{ customer }}":                 "customer=42",
		"{{order.region}}":               "order.region=eu",
		"{{order.items.0.sku}}":          "order.items.0.sku=a",
		"{{order.items.1.sku}}":          "order.items.1.sku=none",
		"{{order.items.x}}":              "order.items.x=none",
		"{{nothing}}":                    "nothing=none",
		"{{missing.deep}}":               "missing.deep=none",
		"{{customer}}/{{order.region}}!": "42/eu!",
		"for {{vip}}":                    "for true",
		"{{big}}":                        "big=12345678901234567890",
		"{{list}}":                       "list=[1,2]",
	} {
		k, err := limit.ParseKey(key)
		if err != nil {
			t.Errorf("%q: %v", key, err)
		} else if got := k.Of(limit.Document([]byte(context))); got != want {
			t.Errorf("%q is %q; want %q", key, got, want)
		}
	}
	for _, key := range []string{"{{", "}}", "{{a", "a}}", "{{}}", "{{a..b}}", "{{a b}}", "a\nb", "\xff",
		strings.Repeat("x", limit.MaxKey+1), strings.Repeat("{{a}}", 9), "{{a{{b}}"} {
		if _, err := limit.ParseKey(key); err == nil {
			t.Errorf("%q is accepted", key)
		}
	}
	k, err := limit.ParseKey("{{customer}}")
	if err != nil {
		t.Fatal(err)
	}
	for _, context := range []string{"", "null", "[]", "{", `"text"`} {
		if got := k.Of(limit.Document([]byte(context))); got != "customer=none" {
			t.Errorf("%s: %q", context, got)
		}
	}
}

func TestKeysOfAnything(t *testing.T) {
	t.Parallel()
	k, err := limit.ParseKey("{{a}}")
	if err != nil {
		t.Fatal(err)
	}
	of := func(t *rapid.T, v string) string {
		b := quoted(v)
		got := k.Of(limit.Document([]byte(`{"a":` + b + `}`)))
		if len(got) > limit.MaxValue || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("the key %q of %q is too long or has control characters", got, v)
		}
		return got
	}
	rapid.Check(t, func(t *rapid.T) {
		v, w := rapid.String().Draw(t, "v"), rapid.String().Draw(t, "w")
		if long := rapid.Bool().Draw(t, "long"); long {
			v, w = strings.Repeat("x", 300)+v, strings.Repeat("x", 300)+w
		}
		if a, b := of(t, v), of(t, w); (a == b) != (quoted(v) == quoted(w)) {
			t.Errorf("%q and %q have the keys %q and %q", v, w, a, b)
		}
	})
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	seen := map[int64]string{}
	for _, n := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "", ""}, {"a", "b", "d"}} {
		no := limit.Number(n[0], n[1], n[2])
		if no <= 0 || no >= 1<<61 {
			t.Errorf("%d is out of range", no)
		}
		if was, twice := seen[no]; twice {
			t.Errorf("%v and %s have one number", n, was)
		}
		seen[no] = strings.Join(n[:], "|")
	}
}

// A bucket filled by a clock an hour ahead holds nobody back for that hour.
func TestBucketOfTheFuture(t *testing.T) {
	t.Parallel()
	r := limit.Rate{Count: 5, Per: time.Second, Burst: 2}
	now := int64(time.Hour)
	b := r.Take(0, 2*now, 2)
	if free, next := r.Free(b, now), r.Next(b, now); free != 0 || next != now+int64(200*time.Millisecond) {
		t.Errorf("%d may pass now, the next one in %v", free, time.Duration(next-now))
	}
	if next := r.Next(r.Take(b, now, 1), now); next != now+int64(400*time.Millisecond) {
		t.Errorf("after one more the next may pass in %v", time.Duration(next-now))
	}
}
