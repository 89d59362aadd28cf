package template_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/template"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"None": {`name: a
version: 1.0.0
input_schema: {type: object}
lifecycle: {max_duration_minutes: 10}
steps:
  - {name: a, handler: charge_card, timeout_seconds: 600, retry: {max_attempts: 2, backoff: fixed}}
  - {name: b, handler: charge_card}
  - {name: c, handler: ship}
  - {name: d, handler: shop}
  - {name: e, wait: {approval: ok?, timeout: 1h}}
  - {name: f, wait: {for: 1h}}
`, nil},
		"All": {`name: a
version: 1.0.0
lifecycle: {max_duration_minutes: 10}
steps:
  - {name: a, handler: charge_card, timeout_seconds: 601}
  - {name: b, handler: {callable: charge_cart}}
  - {name: c, wait: {approval: ok?}}
  - {name: d, wait: {signal: paid, key: a}}
  - {name: e, handler: other, retry: {max_attempts: 1, backoff: fixed, jitter: 0.5}}
on_failure:
  - {name: f, handler: others, dependencies: [a], retry: {retryable: false, max_attempts: 3}}
`, []string{
			"f.yaml:1:1: there is no input_schema: tasks with any context are accepted, and a wrong one fails in a worker",
			"f.yaml:5:54: the timeout is longer than the whole task may take (max_duration_minutes)",
			`f.yaml:6:35: the handler "charge_cart" differs by a character from "charge_card" above: is it another one?`,
			"f.yaml:7:21: the step waits for ever if nobody answers: give it a timeout",
			"f.yaml:8:21: the step waits for ever if nobody answers: give it a timeout",
			"f.yaml:9:56: backoff has no effect: max_attempts is 1, so there is no second attempt",
			"f.yaml:9:72: jitter has no effect: max_attempts is 1, so there is no second attempt",
			`f.yaml:11:24: the handler "others" differs by a character from "other" above: is it another one?`,
			"f.yaml:11:77: max_attempts has no effect: retryable is false, so there is no second attempt",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := template.Parse("f.yaml", []byte(c.text), nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range template.Warnings("f.yaml", []byte(c.text)) {
				got = append(got, w.Location+": "+w.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
