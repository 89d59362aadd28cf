package task_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

// TestOutageRules: under any events and clock jumps probes and their interval stay bounded, and only the newest
// reservation is valid.
func TestOutageRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.IntRange(1, 100).Draw(t, "every")) * time.Second
		rules := task.OutageRules{Failures: 3, Within: time.Minute, ProbeEvery: every,
			ProbeAtMost: every * time.Duration(rapid.IntRange(1, 30).Draw(t, "most"))}
		now := task.Instant(1_000_000_000_000)
		o := task.NewOutage(task.ID{1}, &task.Route{ID: 1, Namespace: "n", Handler: "h"}, task.Burst{Failures: 3, Since: now},
			"down", rules, now)
		step := &task.Step{ID: task.ID{2}, TaskID: task.ID{3}}
		reserved := int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(-7200, 7200).Draw(t, "passes")) * time.Second)
			if due := o.ProbeDue(now, rules); due > now.Add(rules.Farthest()) {
				t.Fatalf("somebody looks for the probe in %s, later than in %s", due.Sub(now), rules.Farthest())
			}
			switch rapid.IntRange(0, 4).Draw(t, "act") {
			case 0:
				reserved = o.Reserve(now)
			case 1:
				if o.Reserved(reserved) {
					step.Token++
					o.Probe(step, now, rules)
				}
			case 2:
				if o.Reserved(reserved) {
					o.NoProbe(now, rules)
				}
			case 3:
				if o.IsProbe(step.ID, step.Token) {
					how := rapid.SampledFrom([]task.ProbeResult{task.ProbeFailed, task.ProbeLost}).Draw(t, "how")
					o.Probed(how, now, rules)
					if o.Probing() || o.IsProbe(step.ID, step.Token) || o.LastProbe != how {
						t.Fatalf("after its end the probe is still there: %+v", o)
					}
				}
			case 4:
				if o.Probing() && !o.ProbeStep.IsZero() {
					o.StillRunning(now, rules)
				}
			}
			if o.ProbeEvery < rules.ProbeEvery || o.ProbeEvery > rules.ProbeAtMost {
				t.Fatalf("a probe every %s, not within %s and %s", o.ProbeEvery, rules.ProbeEvery, rules.ProbeAtMost)
			}
			if o.Reserved(reserved-1) || o.Reserved(reserved) && o.IsProbe(step.ID, step.Token) {
				t.Fatalf("two probes at once: %+v", o)
			}
		}
		o.Close(now, "ann", "done")
		if o.Open() || o.Probing() || o.Reserved(reserved) {
			t.Fatalf("closed, and yet %+v", o)
		}
	})
}

// TestBurstRules: a burst counts at most the failures within the time, and at least failures less successes.
func TestBurstRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const within = 10 * time.Second
		now, b := task.Instant(1_000_000_000_000), task.Burst{}
		type counted struct {
			at  task.Instant
			net int
		}
		var all []counted
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 4000).Draw(t, "passes")) * time.Millisecond)
			net := rapid.IntRange(-5, 8).Draw(t, "net")
			all = append(all, counted{now, net})
			b = b.Add(net, now, within)
			failed, net := 0, 0
			for _, c := range all {
				if c.at >= b.Since {
					failed += max(c.net, 0)
					net += c.net
				}
			}
			if b.Failures < 0 || b.Failures > failed || b.Failures < net {
				t.Fatalf("counted %d of %d failures, %d net", b.Failures, failed, net)
			}
			if b.Failures > 0 && now.Sub(b.Since) > within {
				t.Fatalf("counts what happened %s ago", now.Sub(b.Since))
			}
		}
	})
}
