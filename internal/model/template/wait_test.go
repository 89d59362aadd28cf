package template_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

func waiting(rest string) string {
	return "name: x\nversion: \"1\"\nsteps:\n  - {name: a, " + rest + "}\n"
}

func TestParseWaits(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]task.Wait{
		`wait: {for: 1h}`:                       {For: time.Hour},
		`wait: {for: 8784h}`:                    {For: task.MaxWait},
		`wait: {until: "2030-01-31T09:00:00Z"}`: {Until: "2030-01-31T09:00:00Z"},
		`wait: {until: "{{order.at}}"}`:         {Until: "{{order.at}}"},
		`wait: {approval: "ok?"}`:               {Approval: "ok?"},
		`wait: {approval: "ok?", timeout: 1s}`:  {Approval: "ok?", Timeout: time.Second},
		`wait: {approval: x, on_reject: fail}`:  {Approval: "x"},
		`wait: {approval: x, on_reject: continue, timeout: 2s, on_timeout: continue}`: {Approval: "x", Timeout: 2 * time.Second,
			OnTimeout: task.EndContinues, OnReject: task.EndContinues},
		`wait: {signal: payment.settled, key: "{{order.id}}/1", timeout: 72h}`: {Signal: "payment.settled",
			Key: "{{order.id}}/1", Timeout: 72 * time.Hour},
	} {
		got := parse(t, waiting(yaml))
		if diff := cmp.Diff(&want, got.Steps[0].Wait); diff != "" || !got.Controlled || got.Steps[0].Handler != "" {
			t.Errorf("%s (-want +got):\n%s", yaml, diff)
		}
	}
}

func TestParseBadWaits(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		`wait: 1h`:                       "wait must be a mapping",
		`wait: {}`:                       "wait needs exactly one of for, until, approval and signal",
		`wait: {for: 1h, approval: x}`:   "wait needs exactly one of",
		`wait: {for: 1}`:                 "for must be a string",
		`wait: {for: soon}`:              "for must be a duration like 90s or 48h",
		`wait: {for: 0s}`:                "for must be 1s to",
		`wait: {for: -1h}`:               "for must be 1s to",
		`wait: {for: 8785h}`:             "for must be 1s to",
		`wait: {until: tomorrow}`:        "until must be an RFC 3339 time",
		`wait: {until: ""}`:              "until must not be empty",
		`wait: {until: "{{a"}`:           "until has {{ without }}",
		`wait: {approval: ""}`:           "approval must say what is to be approved",
		"wait: {approval: \"a\\u0007\"}": "approval contains the control character U+0007",
		`wait: {approval: "` + strings.Repeat("x", task.MaxApproval+1) + `"}`:   "approval is 1025 bytes long",
		`wait: {for: 1h, timeout: 1h}`:                                          "timeout has no meaning here: it goes with approval and signal",
		`wait: {approval: x, on_timeout: continue}`:                             "on_timeout has no meaning here: it goes with timeout",
		`wait: {for: 1h, on_reject: continue}`:                                  "on_reject has no meaning here: it goes with approval",
		`wait: {approval: x, on_reject: maybe}`:                                 "on_reject must be fail or continue",
		`wait: {signal: a}`:                                                     "a wait for a signal needs a key",
		`wait: {signal: "", key: a}`:                                            "signal must not be empty",
		`wait: {signal: a, key: ""}`:                                            "key must not be empty",
		`wait: {signal: a, key: 7}`:                                             "key must be a string",
		`wait: {signal: a, key: "{{b"}`:                                         "key has {{ without }}",
		"wait: {signal: \"a\u0007\", key: b}":                                   "signal contains the control character U+0007",
		`wait: {for: 1h, key: b}`:                                               "key has no meaning here: it goes with signal",
		`wait: {signal: a, key: b, on_reject: continue}`:                        "on_reject has no meaning here",
		`wait: {signal: a, key: b, until: "{{c}}"}`:                             "wait needs exactly one of",
		`wait: {signal: ` + strings.Repeat("x", task.MaxSignal+1) + `, key: a}`: "signal is 256 bytes long",
		`wait: {signal: a, key: ` + strings.Repeat("x", task.MaxSignal+1) + `}`: "key is 256 bytes long",
		`wait: {for: 1h, fro: 1}`:                                               `wait has no key "fro"`,
		`wait: {for: 1h}, handler: h`:                                           "a step with wait has no handler: no worker runs it",
		`wait: {for: 1h}, retry: {}`:                                            "a step with wait has no retry",
		`wait: {for: 1h}, timeout_seconds: 1`:                                   "a step with wait has no timeout_seconds",
		`wait: {for: 1h}, rate_limit: {limit: 1, per: 1s}`:                      "a step with wait has no rate_limit",
	} {
		_, err := template.Parse("t.yaml", []byte(waiting(yaml)), nil)
		if err == nil || !strings.Contains(problems(err), want) {
			t.Errorf("%s: %s; want %q", yaml, problems(err), want)
		}
	}
}

func problems(err error) string {
	var all []string
	if e, ok := err.(*task.Error); ok {
		for _, p := range e.Problems {
			all = append(all, p.Message)
		}
	}
	return strings.Join(all, "\n")
}

func TestFingerprintOfWaits(t *testing.T) {
	t.Parallel()
	of := func(yaml string) string { return parse(t, waiting(yaml)).Fingerprint }
	if of("wait: {for: 1h}") != of("wait: {for: 60m}") ||
		of("wait: {approval: x}") != of("wait: {approval: x, on_reject: fail}") {
		t.Error("spelling changes the fingerprint")
	}
	if of("wait: {signal: a, key: b}") == of("wait: {signal: a, key: c}") ||
		of("wait: {for: 1h}") == of("wait: {for: 2h}") || of("wait: {approval: x}") == of("wait: {approval: y}") {
		t.Error("another wait does not change the fingerprint")
	}
}
