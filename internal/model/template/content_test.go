package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/template"
)

const plain = `name: order
version: "1"
priority: high
metadata: {author: ops, numbers: [1, 2.5]}
input_schema: {type: object, required: [a], properties: {a: {type: number, maximum: 1000}}}
steps:
  - name: a
    handler: h
  - name: b
    handler: h
  - name: c
    handler: {callable: h, initialization: {x: 1, y: [true, null, "z"]}}
    dependencies: [a, b]
    required_capabilities: [gpu, eu]
    retry: {max_attempts: 3}
    timeout_seconds: 60
`

func TestFingerprintInvariance(t *testing.T) {
	t.Parallel()
	want := parse(t, plain).Fingerprint
	if len(want) != 64 {
		t.Fatalf("fingerprint %q is no SHA-256", want)
	}
	for name, src := range map[string]string{
		"Comments": "# about orders\n" + strings.ReplaceAll(plain, "\n", " # why\n"),
		"CRLF":     strings.ReplaceAll(plain, "\n", "\r\n"),
		"KeyOrder": `steps:
- handler: h
  name: a
- {handler: h, name: b}
- retry: {max_attempts: 3}
  timeout_seconds: 60
  required_capabilities: [eu, gpu, eu]
  dependencies: [b, a]
  handler:
    initialization:
      y:
      - true
      - ~
      - z
      x: 1
    callable: h
  name: c
input_schema:
  properties: {a: {maximum: 1000, type: number}}
  required: [a]
  type: object
metadata: {numbers: [1, 2.50], author: "ops"}
priority: "high"
version: '1'
name: order
`,
		"DefaultsWrittenOut": strings.NewReplacer("version:",
			"namespace_name: default\ndescription:\nlifecycle: {}\nversion:",
			"{max_attempts: 3}", "{retryable: true, max_attempts: 3, backoff: exponential, backoff_base_ms: 1000, jitter: 0.10}",
			"    handler: h\n  - name: b",
			"    handler: {callable: h}\n    retry: {}\n    dependencies: []\n  - name: b").Replace(plain),
		"Numbers": strings.NewReplacer("x: 1,", "x: 0x1,", "2.5", "25e-1", "60", "+060", "maximum: 1000",
			"maximum: 0o1750").Replace(plain),
		"Anchors": strings.NewReplacer("    handler: h\n  - name: b\n    handler: h\n",
			"    handler: &h h\n  - name: b\n    handler: *h\n").Replace(plain),
		"JSON": `{"name":"order","version":"1","priority":"high","metadata":{"author":"ops","numbers":[1,2.5]},
			"input_schema":{"type":"object","required":["a"],"properties":{"a":{"type":"number","maximum":1000}}},
			"steps":[{"name":"a","handler":"h"},{"name":"b","handler":"h"},
			{"name":"c","handler":{"callable":"h","initialization":{"x":1,"y":[true,null,"z"]}},"dependencies":["a","b"],
			"required_capabilities":["gpu","eu"],"retry":{"max_attempts":3},"timeout_seconds":60}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, src).Fingerprint; got != want {
				t.Errorf("fingerprint %s, want that of the plain document %s", got, want)
			}
		})
	}
}

func TestFingerprintKeepsPriorityAsWritten(t *testing.T) {
	t.Parallel()
	other, err := template.Parse("", []byte(plain), func(string) (int, bool) { return 99, true })
	if err != nil {
		t.Fatal(err)
	}
	if *other.Priority != 99 || other.Fingerprint != parse(t, plain).Fingerprint {
		t.Errorf("priority %d, fingerprint %s; want 99 and an unchanged fingerprint", *other.Priority, other.Fingerprint)
	}
}

func TestFingerprintDiffers(t *testing.T) {
	t.Parallel()
	seen := map[string]string{parse(t, plain).Fingerprint: "plain"}
	for _, c := range []struct{ name, old, new string }{
		{"Name", "name: order", "name: orders"},
		{"Version", `"1"`, `"2"`},
		{"Namespace", "version:", "namespace_name: shop\nversion:"},
		{"Description", "version:", "description: x\nversion:"},
		{"Priority", "high", "low"},
		{"NoPriority", "priority: high\n", ""},
		{"Metadata", "ops", "dev"},
		{"Schema", "maximum: 1000", "maximum: 1001"},
		{"SchemaTextNotNumber", "x: 1,", `x: "1",`},
		{"Lifecycle", "version:", "lifecycle: {max_duration_minutes: 5}\nversion:"},
		{"StepName", "name: c", "name: d"},
		{"StepOrder", "  - name: a\n    handler: h\n  - name: b\n", "  - name: b\n    handler: h\n  - name: a\n"},
		{"StepPriority", "timeout_seconds: 60", "timeout_seconds: 60\n    priority: high"},
		{"Handler", "name: a\n    handler: h", "name: a\n    handler: g"},
		{"Initialization", "x: 1", "x: 2"},
		{"Dependencies", "[a, b]", "[a]"},
		{"Capabilities", "[gpu, eu]", "[gpu]"},
		{"Retry", "max_attempts: 3", "max_attempts: 4"},
		{"Timeout", "60", "61"},
		{"DispatchTTL", "version:", "dispatch_ttl_ms: 604800000\nversion:"},
		{"StepDispatchTTL", "timeout_seconds: 60", "timeout_seconds: 60\n    dispatch_ttl_ms: 1000"},
	} {
		src := strings.Replace(plain, c.old, c.new, 1)
		if src == plain {
			t.Fatalf("%s changes nothing", c.name)
		}
		print := parse(t, src).Fingerprint
		if other, same := seen[print]; same {
			t.Errorf("%s has the fingerprint of %s", c.name, other)
		}
		seen[print] = c.name
	}
}

// The fingerprint is stored: a change would make every unchanged document a conflict.
func TestFingerprintIsFrozen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"smallest.yaml": "ad71aa9407f2ea0fc482525f777039e30030325c7d7e17d5657f32f428bbb25f",
		"full.yaml":     "ec90899c1cbd9837a0d2bebcef30901854fa94114ab97f829f9eb8779ded13f7",
	} {
		if got := parse(t, string(read(t, "testdata/good/"+name))).Fingerprint; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestInitializationKeepsNumbers(t *testing.T) {
	t.Parallel()
	got := parse(t, strings.Replace(doc(), "handler: h",
		`handler: {callable: h, initialization: {big: 123456789012345678901234567890, neg: -0, hex: 0xFF, f: 1.50, e: 1e3, old: 0123, text: 1_000}}`, 1))
	want := `{"big":123456789012345678901234567890,"e":1000,"f":1.5,"hex":255,"neg":0,"old":123,"text":"1_000"}`
	if init := string(got.Steps[0].Initialization); init != want || !json.Valid(got.Steps[0].Initialization) {
		t.Errorf("%s, want %s", init, want)
	}
}
