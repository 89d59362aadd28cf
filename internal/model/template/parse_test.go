package template_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

var update = flag.Bool("update", false, "rewrite the .want files of testdata/bad")

func levels(name string) (int, bool) {
	level, known := map[string]int{"high": 75, "medium": 50, "low": 25}[name]
	return level, known
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t *testing.T, src string) *task.Template {
	t.Helper()
	got, err := template.Parse("t.yaml", []byte(src), levels)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, src)
	}
	return got
}

// Each document of testdata/bad has all its problems in a .want file.
func TestParseBad(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d documents, %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := template.Parse(filepath.Base(path), read(t, path), levels)
			var e *task.Error
			if got != nil || !errors.As(err, &e) || e.Code != task.Invalid {
				t.Fatalf("template %v, error %v; want a task.Error of code %s", got, err, task.Invalid)
			}
			var b strings.Builder
			fmt.Fprintln(&b, e.Message)
			for _, p := range e.Problems {
				fmt.Fprintf(&b, "%s: %s\n", p.Location, p.Message)
			}
			if e.Hint != "" {
				fmt.Fprintln(&b, e.Hint)
			}
			want := strings.TrimSuffix(path, ".yaml") + ".want"
			if *update {
				if err := os.WriteFile(want, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, want)), b.String()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseFull(t *testing.T) {
	t.Parallel()
	src := read(t, "testdata/good/full.yaml")
	got := parse(t, string(src))
	high, ninety, low := 75, 90, 25
	careful := task.Retry{Retryable: true, MaxAttempts: 5, Backoff: task.BackoffExponential, Base: time.Second,
		Max: 30 * time.Second, Jitter: 0.25, BaseSaid: true, JitterSaid: true}
	linear := careful
	linear.Backoff, linear.MaxAttempts = task.BackoffLinear, 3
	once := task.DefaultRetry()
	once.Retryable = false
	want := &task.Template{
		Namespace: "shop", Name: "order_fulfilment", Version: "2.1.0-rc.1+build.7", Priority: &high,
		Description: "Takes an order from payment to the parcel.\nTwo branches run side by side.\n",
		InputSchema: []byte(
			`{"properties":{"amount":{"exclusiveMinimum":0,"maximum":123456789012345678901234567890,"type":"number"},` +
				`"sku":{"pattern":"^[A-Z]{3}-[0-9]+$","type":"string"}},"required":["amount","sku"],"type":"object"}`),
		Lifecycle: task.Lifecycle{MaxWaitingForDependencies: time.Hour, MaxWaitingForRetry: 30 * time.Minute,
			MaxStepsInProcess: 15 * time.Minute, MaxDuration: 24 * time.Hour},
		Steps: []task.StepSpec{
			{Name: "validate", Description: "Looks at the order.", Handler: "orders.validate", Retry: once,
				Children: []int{1, 2}},
			{Name: "reserve", Handler: "stock.reserve",
				Initialization: []byte(`{"url":"https://stock.example.com/?a=1&b=<2>","warehouse":"north"}`),
				Dependencies:   []string{"validate"}, Retry: task.DefaultRetry(), Timeout: 2 * time.Minute,
				Capabilities: []string{"eu", "stock"}, Priority: &ninety, Parents: []int{0}, Children: []int{3}},
			{Name: "charge", Handler: "payments.charge", Dependencies: []string{"validate"}, Retry: careful, Parents: []int{0},
				Children: []int{3}},
			{Name: "ship", Handler: "parcels.ship", Dependencies: []string{"reserve", "charge"}, Retry: linear, Priority: &low,
				Parents: []int{1, 2}},
		},
		Source: string(src),
	}
	want.Fingerprint = got.Fingerprint
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseDispatchTTL(t *testing.T) {
	t.Parallel()
	got := parse(t, `{name: o, version: "1", dispatch_ttl_ms: 604800000, steps: [{name: a, handler: h},
		{name: b, handler: h, dispatch_ttl_ms: 1000}]}`)
	if got.DispatchTTL != task.MaxDispatchTTL || got.Steps[1].DispatchTTL != task.MinDispatchTTL {
		t.Errorf("the template waits %s, its second step %s", got.DispatchTTL, got.Steps[1].DispatchTTL)
	}
	for i, want := range []time.Duration{task.MaxDispatchTTL, task.MinDispatchTTL} {
		if ttl := got.DispatchTTLOf(&task.Step{Ordinal: i + 1}, time.Minute); ttl != want {
			t.Errorf("step %d waits %s, want %s", i+1, ttl, want)
		}
	}
	if ttl := (&task.Template{}).DispatchTTLOf(&task.Step{}, time.Minute); ttl != time.Minute {
		t.Errorf("a step without a time of its own waits %s", ttl)
	}
}

func TestParseDefaults(t *testing.T) {
	t.Parallel()
	src := read(t, "testdata/good/smallest.yaml")
	got := parse(t, string(src))
	want := &task.Template{
		Namespace: "default", Name: "order", Version: "1", Source: string(src), Fingerprint: got.Fingerprint,
		Steps: []task.StepSpec{{Name: "only", Handler: "do", Retry: task.DefaultRetry()}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"tabs.json", "byte_order_mark.yaml"} {
		if got := parse(t, string(read(t, "testdata/good/"+name))); got.Name != "order" || got.Steps[0].Handler != "do" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func doc(lines ...string) string {
	return "name: n\nversion: \"1\"\nsteps:\n  - name: s\n    handler: h\n    " + strings.Join(lines, "\n    ") + "\n"
}

func TestParseRetry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		yaml string
		want task.Retry
	}{
		{"retry:", task.DefaultRetry()},
		{"retry: {}", task.DefaultRetry()},
		{"retry: {max_attempts: 7}", task.Retry{Retryable: true, MaxAttempts: 7, Backoff: task.BackoffExponential,
			Base: time.Second, Jitter: 0.1}},
		{"retry: {jitter: 0}", task.Retry{Retryable: true, Backoff: task.BackoffExponential, Base: time.Second,
			JitterSaid: true}},
		{"retry: {jitter: 1}", task.Retry{Retryable: true, Backoff: task.BackoffExponential, Base: time.Second, Jitter: 1,
			JitterSaid: true}},
		{"retry: {backoff: none}", task.Retry{Retryable: true, Backoff: task.BackoffNone, Base: time.Second, Jitter: 0.1}},
		{"retry: {backoff: fixed, backoff_base_ms: 250, max_backoff_ms: 500}",
			task.Retry{Retryable: true, Backoff: task.BackoffFixed, Base: 250 * time.Millisecond, Max: 500 * time.Millisecond,
				Jitter: 0.1, BaseSaid: true}},
		{"retry: {backoff_base_ms: 1000, jitter: 0.1}",
			task.Retry{Retryable: true, Backoff: task.BackoffExponential, Base: time.Second, Jitter: 0.1, BaseSaid: true,
				JitterSaid: true}},
		{"retry: {retryable: false}", task.Retry{Backoff: task.BackoffExponential, Base: time.Second, Jitter: 0.1}},
	} {
		if got := parse(t, doc(c.yaml)).Steps[0].Retry; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.yaml, got, c.want)
		}
	}
}

func TestParsePriority(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		yaml string
		want int
	}{{"high", 75}, {"low", 25}, {"0", 0}, {"100", 100}, {`"42"`, 42}, {"0x10", 16}} {
		got := parse(t, doc("priority: "+c.yaml)).Steps[0].Priority
		if got == nil || *got != c.want {
			t.Errorf("%s: %v, want %d", c.yaml, got, c.want)
		}
	}
	if got := parse(t, doc("priority:")).Steps[0].Priority; got != nil {
		t.Errorf("no priority: %d", *got)
	}
	if _, err := template.Parse("", []byte(doc("priority: 9")), nil); err != nil {
		t.Errorf("a number without a table of names: %v", err)
	}
	if _, err := template.Parse("", []byte(doc("priority: high")), nil); task.CodeOf(err) != task.Invalid {
		t.Errorf("a name without a table of names: %v", err)
	}
}

func TestParseTooLarge(t *testing.T) {
	t.Parallel()
	small := doc()
	fits := small + "#" + strings.Repeat("x", template.MaxSource-len(small)-1)
	if _, err := template.Parse("", []byte(fits), nil); err != nil {
		t.Errorf("%d bytes: %v", len(fits), err)
	}
	if _, err := template.Parse("", []byte(fits+"x"), nil); task.CodeOf(err) != task.TooLarge {
		t.Errorf("%d bytes: %v, want %s", len(fits)+1, err, task.TooLarge)
	}
}

func TestParseInvalidUTF8(t *testing.T) {
	t.Parallel()
	_, err := template.Parse("f", []byte("name: n\nversion: é\xff\n"), nil)
	want := "the template has a problem; f:2:11: the document is not valid UTF-8"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestParseHostileFilename(t *testing.T) {
	t.Parallel()
	_, err := template.Parse("a\n\x1b[31m\u202eb.yaml", []byte("- a"), nil)
	var e *task.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if got, want := e.Problems[0].Location, "a\ufffd\ufffd[31m\ufffdb.yaml:1:1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	_, err = template.Parse("", []byte("- a"), nil)
	if !errors.As(err, &e) || e.Problems[0].Location != "template:1:1" {
		t.Errorf("without a filename: %v", err)
	}
}

func TestParseCostly(t *testing.T) {
	t.Parallel()
	const mega = template.MaxSource
	for _, c := range []struct{ name, src string }{
		{"Brackets", strings.Repeat("[", mega)},
		{"Braces", strings.Repeat("{a: ", mega/4)},
		{"Dashes", strings.Repeat("- ", mega/2)},
		{"Keys", strings.Repeat("a: 1\n", mega/5)},
		{"Comments", strings.Repeat("#\n", mega/2)},
		{"Words", strings.Repeat("a,", mega/2)},
		{"FlowWords", "[" + strings.Repeat("a,", mega/2-1)},
		{"Quotes", strings.Repeat(`""`, mega/2)},
		{"Anchors", strings.Repeat("&a ", mega/3)},
		{"Aliases", strings.Repeat("- *a\n", mega/5)},
		{"Tags", strings.Repeat("!a ", mega/3)},
		{"Documents", strings.Repeat("---\n", mega/4)},
		{"Digits", "a: " + strings.Repeat("9", mega-3)},
		{"JSONBrackets", `{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}"},
		{"JSONKeys", `{"a":1` + strings.Repeat(`,"a":1`, 100_000) + "}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := template.Parse("", []byte(c.src), nil); task.CodeOf(err) != task.Invalid {
				t.Errorf("%.300v, want code %s", err, task.Invalid)
			}
		})
	}
}
