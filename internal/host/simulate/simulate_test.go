package simulate_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/simulate"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

const order = `name: order
version: "1"
input_schema: {type: object, required: [amount]}
lifecycle: {max_duration_minutes: 6000}
steps:
  - {name: charge, handler: charge, required_capabilities: [bank]}
  - {name: approve, wait: {approval: "big order", timeout: 48h}, dependencies: [charge], when: context.amount > 1000}
  - {name: cool, wait: {for: 1h}, dependencies: [approve]}
  - {name: ship, handler: ship, dependencies: [cool], retry: {max_attempts: 3, backoff: fixed, backoff_base_ms: 60000,
       jitter: 0}}
on_failure:
  - {name: refund, handler: refund, dependencies: [charge]}
`

// ran simulates the order and returns the state and the differences from a run without incidents in one line.
func ran(t *testing.T, source, script string) string {
	t.Helper()
	def, err := template.Parse("order.yaml", []byte(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulate.ReadScript("script.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Run(t.Context(), def, nil, s,
		simulate.Options{Start: time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC)})
	var refused *tasker.Error
	if errors.As(err, &refused) {
		return fmt.Sprint(refused.Code, " ", refused.Details)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := string(out.State) + " " + (time.Duration(out.TookMS) * time.Millisecond).String()
	if out.Stuck != "" {
		text += " (" + out.Stuck + ")"
	}
	for _, one := range out.Steps {
		text += fmt.Sprintf(" %s=%s/%d", one.Name, one.State, one.Attempts)
		if one.Failure != "" {
			text += "!" + one.Failure
		}
	}
	return text
}

func TestRun(t *testing.T) {
	t.Parallel()
	endless := strings.NewReplacer(", timeout: 48h", "", "lifecycle: {max_duration_minutes: 6000}", "").Replace(order)
	for name, c := range map[string]struct{ source, script, want string }{
		"skipped": {order, `context: {amount: 5}`,
			"complete 1h0m0s charge=complete/1 approve=skipped/0 cool=complete/1 ship=complete/1 refund=skipped/0"},
		"retried": {order, `{"context": {"amount": 5}, "steps": {"ship": {"fail": {"message": "no truck", "times": 2}}}}`,
			"complete 1h1m0s charge=complete/1 approve=skipped/0 cool=complete/1 ship=complete/3!no truck " +
				"refund=skipped/0"},
		"compensated": {order, "context: {amount: 5000}\nsteps: {approve: {approve: \"\"}, " +
			"ship: {fail: {message: no truck}}}",
			"error 1h1m0s charge=complete/1 approve=complete/1 cool=complete/1 ship=error/3!no truck " +
				"refund=complete/1"},
		"not retryable": {order, "context: {amount: 5}\nsteps: {charge: {fail: {message: no, retryable: false}}}",
			"error 0s charge=error/1!no approve=pending/0 cool=pending/0 ship=pending/0 refund=pending/0"},
		"rejected": {order, "context: {amount: 5000}\nsteps: {approve: {reject: too much}}",
			"error 0s charge=complete/1 approve=error/1!simulation rejected it: too much " +
				"cool=pending/0 ship=pending/0 refund=complete/1"},
		"timed out": {order, "context: {amount: 5000}",
			"error 48h0m0s charge=complete/1 approve=error/1!no approval came within 48h0m0s " +
				"cool=pending/0 ship=pending/0 refund=complete/1"},
		"stuck": {endless, "context: {amount: 5000}",
			"steps_in_process 0s (step approve waits for somebody, and the script says nothing of it) " +
				"charge=complete/1 approve=waiting/1 cool=pending/0 ship=pending/0 refund=pending/0"},
		"signal": {"name: s\nversion: \"1\"\nsteps:\n  - {name: paid, wait: {signal: paid, key: \"{{id}}\"}}\n" +
			"  - {name: ship, handler: h, dependencies: [paid], when: parents.paid.result.ok == true}\n",
			"context: {id: 7}\nsteps: {paid: {result: {ok: true}}}", "complete 0s paid=complete/1 ship=complete/1"},
		"schema": {order, "context: {}", `invalid [{/tasks/0/context lacks the property "amount"}]`},
		"typo":   {order, "context: {amount: 5}\nsteps: {shpi: {}}", `invalid [{/steps there is no step "shpi"}]`},
		"limited": {strings.Replace(order, "{name: charge,", "{name: charge, rate_limit: {limit: 1, per: 10s},", 1),
			"context: {amount: 5}\nsteps: {charge: {fail: {message: busy, times: 1}}}",
			"complete 1h0m10s charge=complete/2!busy approve=skipped/0 cool=complete/1 ship=complete/1 refund=skipped/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ran(t, c.source, c.script); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReadBadScript(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`[]`:                           "1:1 a script must be a mapping",
		`stps: {}`:                     `1:1 a script has no key "stps"; did you mean "steps"?`,
		`steps: []`:                    "1:8 steps must be a mapping",
		"steps:\n  a: 1":               `2:6 step "a" must be a mapping`,
		"steps:\n  a: {reslt: 1}":      `2:7 step "a" has no key "reslt"; did you mean "result"?`,
		"steps:\n  a: {fail: {}}":      "2:13 fail needs a message",
		"steps:\n  a: {fail: no}":      "2:13 fail must be a mapping",
		"steps:\n  a: {approve: [no]}": `2:16 approve of step "a" must not be a list`,
		"a: &a {b: *a}":                "",
		"steps:\n  a: {fail: {message: x, times: -1}}":              "2:33 times must not be negative",
		"steps:\n  a: {fail: {message: x, times: many}}":            `2:33 fail.times of step "a" must not be a string`,
		"steps:\n  a: {approve: x, reject: y}":                      "2:3 give approve or reject, not both",
		"steps:\n  a: {result: 1}\n  a: {result: 2}":                "3:3 ",
		"steps:\n  a: {fail: {message: \"x\", retryable: perhaps}}": `retryable of step "a" must not be a string`,
	} {
		_, err := simulate.ReadScript("s.yaml", []byte(script))
		var refused *tasker.Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", script, err)
			continue
		}
		var all []string
		for _, p := range refused.Details {
			all = append(all, strings.TrimPrefix(p.Location, "s.yaml:")+" "+p.Message)
		}
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%s: %q has no %q", script, all, want)
		}
	}
}

func TestChildTasks(t *testing.T) {
	t.Parallel()
	parse := func(source string) *task.Template {
		def, err := template.Parse("t.yaml", []byte(source), nil)
		if err != nil {
			t.Fatal(err)
		}
		return def
	}
	parent := parse(`name: parent
version: "1"
steps:
  - {name: all, for_each: {items: context.items, template: child, on_error: fail}}
  - {name: end, handler: h, dependencies: [all]}
`)
	child := parse(`name: child
version: "1"
steps:
  - {name: cool, wait: {for: 1m}}
  - {name: work, handler: h, dependencies: [cool], retry: {max_attempts: 2, backoff: none}}
`)
	for script, want := range map[string]tasker.TaskState{
		"context: {items: [1, 2, 3]}": tasker.TaskComplete,
		"context: {items: [1, 2, 3]}\nsteps: {work: {fail: {message: no, times: 1}, result: 5}}": tasker.TaskComplete,
		"context: {items: [1, 2, 3]}\nsteps: {work: {fail: {message: no}}}":                      tasker.TaskError,
	} {
		s, err := simulate.ReadScript("script.yaml", []byte(script))
		if err != nil {
			t.Fatal(err)
		}
		out, err := simulate.Run(t.Context(), parent, []*task.Template{child}, s, simulate.Options{})
		if err != nil || out.State != want || out.TookMS < 60_000 {
			t.Errorf("%s: %+v, %v", script, out, err)
		}
	}
}

func TestNestedChildTasks(t *testing.T) {
	t.Parallel()
	var list []*task.Template
	for level := range 10 {
		step := "{name: s, task: {template: l" + strconv.Itoa(level+1) + "}}"
		if level == 9 {
			step = "{name: s, handler: h}"
		}
		def, err := template.Parse("t.yaml", []byte("name: l"+strconv.Itoa(level)+"\nversion: \"1\"\nsteps: ["+step+"]"), nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, def)
	}
	out, err := simulate.Run(t.Context(), list[0], list[1:], &simulate.Script{}, simulate.Options{})
	if err != nil || out.State != tasker.TaskComplete || out.TookMS != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
