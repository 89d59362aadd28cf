package deadletter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestPolicyDecides(t *testing.T) {
	t.Parallel()
	const send, leave, discard = deadletter.VerdictSend, deadletter.VerdictLeave, deadletter.VerdictDiscard
	fixed := deadletter.Policy{Strategy: model.Fixed, MaxRetries: 3, Base: time.Minute}
	with := func(change func(p *deadletter.Policy)) deadletter.Policy {
		p := fixed
		change(&p)
		return p
	}
	growing := deadletter.Policy{Strategy: model.Exponential, MaxRetries: 99, Base: time.Second, Cap: time.Minute,
		Multiplier: 3}
	daily := deadletter.Policy{Strategy: model.Scheduled, MaxRetries: 3, At: 3 * time.Hour}
	midnight := now - now%task.Instant(day.Microseconds())
	for name, c := range map[string]struct {
		p      deadletter.Policy
		letter func(l *deadletter.Letter)
		now    task.Instant
		chance float64
		want   deadletter.Verdict
		delay  time.Duration
		reason string
	}{
		"Zero":      {deadletter.Policy{}, nil, now, 0, leave, 0, ""},
		"Manual":    {deadletter.Policy{Strategy: model.Manual, MaxRetries: 9}, nil, now, 0, leave, 0, ""},
		"Immediate": {deadletter.Policy{Strategy: model.Immediate, MaxRetries: 1}, nil, now, 0.9, send, 0, ""},
		"Fixed":     {fixed, func(l *deadletter.Letter) { l.Replays = 2 }, now, 0.9, send, time.Minute, ""},
		"First":     {growing, nil, now, 0, send, time.Second, ""},
		"Third":     {growing, func(l *deadletter.Letter) { l.Replays = 2 }, now, 0, send, 9 * time.Second, ""},
		"Capped":    {growing, func(l *deadletter.Letter) { l.Replays = 98 }, now, 0, send, time.Minute, ""},
		"JitterLow": {with(func(p *deadletter.Policy) { p.Jitter = 0.5 }), nil, now, 0, send, 30 * time.Second, ""},
		"JitterMid": {with(func(p *deadletter.Policy) { p.Jitter = 0.5 }), nil, now, 0.5, send, time.Minute, ""},
		"Daily":     {daily, nil, midnight.Add(time.Hour), 0, send, 2 * time.Hour, ""},
		"DailyNow":  {daily, nil, midnight.Add(3 * time.Hour), 0, send, 24 * time.Hour, ""},
		"DailyPast": {daily, nil, midnight.Add(4 * time.Hour), 0, send, 23 * time.Hour, ""},
		"Exhausted": {fixed, func(l *deadletter.Letter) { l.Replays = 3 }, now, 0, discard, 0,
			"it was sent back 3 times; the policy allows 3"},
		"Kept": {with(func(p *deadletter.Policy) { p.KeepExhausted = true }),
			func(l *deadletter.Letter) { l.Replays = 3 }, now, 0, leave, 0, "sent back 3 times"},
		"AsOldAsAllowed": {with(func(p *deadletter.Policy) { p.MaxAge = time.Hour }), nil, now.Add(time.Hour), 0, send,
			time.Minute, ""},
		"AnyAge": {fixed, nil, now.Add(1000 * day), 0, send, time.Minute, ""},
		"TooOld": {with(func(p *deadletter.Policy) { p.MaxAge = time.Hour }), nil, now.Add(time.Hour) + 1, 0, discard, 0,
			"more than 1h0m0s ago"},
		"Named": {with(func(p *deadletter.Policy) {
			p.OnlyTypes = []string{"A", "E"}
		}), nil, now, 0, send, time.Minute, ""},
		"Unnamed": {with(func(p *deadletter.Policy) { p.OnlyTypes = []string{"A"} }), nil, now, 0, leave, 0, "does not name"},
		"UnnamedAndOld": {with(func(p *deadletter.Policy) { p.OnlyTypes, p.MaxAge = []string{"A"}, 1 }), nil, now + 9, 0,
			leave, 0, "does not name"},
		"Parked": {fixed, func(l *deadletter.Letter) { l.Parked, l.Replays = true, 2 }, now, 0, leave, 0, "parked"},
		"ParkedAndExhausted": {fixed, func(l *deadletter.Letter) { l.Parked, l.Replays = true, 3 }, now, 0, discard, 0,
			"sent back 3 times"},
		"FailedOnce": {growing, func(l *deadletter.Letter) { l.Replays, l.FailedSends = 1, 1 }, now, 0, send,
			9 * time.Second, ""},
		"FailedTooOften": {fixed, func(l *deadletter.Letter) { l.Replays, l.FailedSends = 1, 2 }, now, 0, discard, 0,
			"sent back 1 times, and 2 sends failed; the policy allows 3"},
		"Lineage": {growing, func(l *deadletter.Letter) { l.Replays, l.Lineage = 1, 1 }, now, 0, send, 9 * time.Second, ""},
		"LineageExhausted": {fixed, func(l *deadletter.Letter) { l.Replays, l.Lineage = 1, 2 }, now, 0, discard, 0,
			"sent back 3 times; the policy allows 3"},
		"LineageAlmost": {fixed, func(l *deadletter.Letter) { l.Lineage = 2 }, now, 0, send, time.Minute, ""},
		"Unknown": {fixed, func(l *deadletter.Letter) { l.Unknown, l.Replays, l.FailedSends = true, 1, 1 }, now, 0, send,
			time.Minute, ""},
		"UnknownExhausted": {fixed, func(l *deadletter.Letter) { l.Unknown, l.Replays, l.FailedSends = true, 1, 2 }, now, 0,
			leave, 0, "sent back 1 times, and 2 sends failed; the policy allows 3"},
		"UnknownParked": {fixed, func(l *deadletter.Letter) { l.Unknown, l.Parked, l.Replays = true, true, 2 }, now, 0, leave,
			0, "parked"},
		"UnknownKept": {with(func(p *deadletter.Policy) { p.KeepExhausted = true }),
			func(l *deadletter.Letter) { l.Unknown, l.Lineage = true, 3 }, now, 0, leave, 0, "sent back 3 times"},
		"FailedImmediate": {deadletter.Policy{Strategy: model.Immediate, MaxRetries: 9},
			func(l *deadletter.Letter) { l.FailedSends = 3 }, now, 0.9, send, 4 * time.Minute, ""},
		"FailedImmediateCapped": {deadletter.Policy{Strategy: model.Immediate, MaxRetries: 99},
			func(l *deadletter.Letter) { l.FailedSends = 30 }, now, 0.9, send, time.Hour, ""},
		"Test": {with(func(p *deadletter.Policy) { p.DiscardTests = true }),
			func(l *deadletter.Letter) { l.MessageID = "test-1" }, now, 0, discard, 0, deadletter.ReasonTest},
		"TestManual": {deadletter.Policy{Strategy: model.Manual, DiscardTests: true},
			func(l *deadletter.Letter) { l.MessageID = "test-" }, now, 0, discard, 0, deadletter.ReasonTest},
		"TestKept": {fixed, func(l *deadletter.Letter) { l.MessageID = "test-1" }, now, 0, send, time.Minute, ""},
		"NoTest": {with(func(p *deadletter.Policy) { p.DiscardTests = true }),
			func(l *deadletter.Letter) { l.MessageID = "a-test-1" }, now, 0, send, time.Minute, ""},
		"Cut": {fixed, func(l *deadletter.Letter) { l.Cut = true }, now, 0, leave, 0, "cut"},
		"Redriven": {fixed, func(l *deadletter.Letter) { l.State = model.LetterRedriven }, now, 0, leave, 0,
			"it is redriven"},
	} {
		l := letterIn(model.LetterOpen)
		l.Failure = failure.Report{Type: "E"}
		if c.letter != nil {
			c.letter(l)
		}
		got := c.p.Decide(l, c.now, c.chance)
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) || (c.reason == "") != (got.Reason == "") {
			t.Errorf("%s: %+v", name, got)
		}
		if c.want == send && got.At.Sub(c.now) != c.delay {
			t.Errorf("%s: after %s, want %s", name, got.At.Sub(c.now), c.delay)
		}
	}
}

func TestPolicyDefaultsAndBounds(t *testing.T) {
	t.Parallel()
	for s, want := range map[model.Strategy]deadletter.Policy{
		"":              {Strategy: model.Manual},
		model.Immediate: {Strategy: model.Immediate, MaxRetries: 3},
		model.Fixed:     {Strategy: model.Fixed, MaxRetries: 3, Base: time.Minute},
		model.Exponential: {Strategy: model.Exponential, MaxRetries: 3, Base: time.Minute, Cap: time.Hour,
			Multiplier: 2},
		model.Scheduled: {Strategy: model.Scheduled, MaxRetries: 3},
	} {
		got := deadletter.Policy{Strategy: s}.WithDefaults()
		if got.Strategy != want.Strategy || got.MaxRetries != want.MaxRetries || got.Base != want.Base ||
			got.Cap != want.Cap ||
			got.Multiplier != want.Multiplier {
			t.Errorf("%s: %+v", s, got)
		}
		got.Source = "mail"
		expect(t, got.Validate(), "")
	}
	if got := (deadletter.Policy{Strategy: model.Exponential, Base: 3 * time.Hour}).WithDefaults(); got.Cap !=
		3*time.Hour {
		t.Errorf("%+v", got)
	}
	steady := deadletter.Policy{Strategy: model.Exponential, Source: "mail", MaxRetries: 1, Base: time.Minute,
		Cap: time.Minute, Multiplier: 1, MaxAge: 87_600 * time.Hour}
	expect(t, steady.Validate(), "")
	steady.MaxAge++
	expect(t, steady.Validate(), "/max_age: must be from 0s to 87600h")
	for want, change := range map[string]func(p *deadletter.Policy){
		"/source: contains":                      func(p *deadletter.Policy) { p.Source = "a\nb" },
		"/origin: contains":                      func(p *deadletter.Policy) { p.Origin = "\x00" },
		"/strategy: must be one of manual":       func(p *deadletter.Policy) { p.Strategy = "hope" },
		"/max_retries: must be from 1 to 1000":   func(p *deadletter.Policy) { p.MaxRetries = 1001 },
		"/max_retries: must be from 1":           func(p *deadletter.Policy) { p.MaxRetries = -1 },
		"/base: must be from 0s to 720h":         func(p *deadletter.Policy) { p.Base = -1 },
		"/cap: must be from 0s to 720h":          func(p *deadletter.Policy) { p.Cap = 721 * time.Hour },
		"/cap: must not be shorter":              func(p *deadletter.Policy) { p.Cap = time.Second },
		"/multiplier: must be from 1 to 100":     func(p *deadletter.Policy) { p.Multiplier = 0.9 },
		"/multiplier: must be":                   func(p *deadletter.Policy) { p.Multiplier = math.Inf(1) },
		"/jitter: must be from 0 to 1":           func(p *deadletter.Policy) { p.Jitter = 1.1 },
		"/jitter: must be":                       func(p *deadletter.Policy) { p.Jitter = math.NaN() },
		"/at: must be from 0s to 23h59m59.99999": func(p *deadletter.Policy) { p.At = day },
		"/max_age: must be from 0s":              func(p *deadletter.Policy) { p.MaxAge = -1 },
		"/only_types: has 101 entries":           func(p *deadletter.Policy) { p.OnlyTypes = make([]string, 101) },
		"/only_types/0: must not be empty":       func(p *deadletter.Policy) { p.OnlyTypes = []string{""} },
	} {
		p := deadletter.Policy{Source: "mail", Strategy: model.Exponential}.WithDefaults()
		change(&p)
		expect(t, p.Validate(), want)
	}
}

// TestSourceOfReports: reported letters go only to URLs of the targets, whatever their origin, and never to a URL
// with a user.
func TestSourceOfReports(t *testing.T) {
	t.Parallel()
	s := deadletter.Source{Name: "mail", Driver: deadletter.DriverHTTP,
		Targets: []string{"http://h/replay/*", "https://*", "http://h:1*"}}
	for _, c := range []struct {
		to, origin string
		want       bool
	}{
		{"http://h/replay/a", "", true}, {"", "http://h/replay/a", true}, {"HTTP://H:80/replay/a", "orders", true},
		{"", "http://evil/", false}, {"http://evil/", "http://evil/", false}, {"https://evil/", "", false},
		{"http://h/replay/../admin", "", false}, {"http://h/replay/%2e%2e/admin", "", false},
		{"http://h/replay/;/../admin", "", false}, {"http://h:1@evil:2/", "", false}, {"http://h:12/", "", false},
		{"http://h/replay/a?b", "", false}, {"http://u:p@h/replay/a", "", false}, {"", "", false},
	} {
		if got := s.Allows(c.to, c.origin); got != c.want {
			t.Errorf("from %q to %q: %t", c.origin, c.to, got)
		}
	}
	for target, want := range map[string]string{"https://*": "must name its host", "http://h*": "must name its host",
		"http://h:8*": "must name its host", "orders": "must be a URL", "http://u:p@h/*": "must not have a user",
		"http://h/a/../*": "must not have dot segments", "http://h/*": ""} {
		s := s.WithDefaults()
		s.Targets = []string{target}
		if want != "" {
			want = "/targets/0: " + want
		}
		expect(t, s.Validate(), want)
		if s.Driver = "memory"; target == "http://u:p@h/*" {
			expect(t, s.Validate(), want)
		}
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	s := deadletter.Source{Name: "mail", Driver: "memory", Targets: []string{"mails.retry", "test-*"}}.WithDefaults()
	if s.MaxReplays != 3 {
		t.Errorf("%+v", s)
	}
	expect(t, s.Validate(), "")
	for _, c := range []struct {
		to, origin string
		want       bool
	}{
		{"", "mails", true}, {"", "", false}, {"mails", "mails", true}, {"mails.retry", "mails", true},
		{"mails.retry2", "mails", false}, {"test-", "mails", true}, {"test-1", "", true}, {"test", "mails", false},
		{"xtest-1", "mails", false}, {"other", "mails", false}, {"Mails", "mails", false},
	} {
		if got := s.Allows(c.to, c.origin); got != c.want {
			t.Errorf("from %q to %q: %t", c.origin, c.to, got)
		}
	}
	if any := (deadletter.Source{Targets: []string{"*"}}); !any.Allows("anything", "") {
		t.Error("* does not allow everything")
	}
	for want, change := range map[string]func(s *deadletter.Source){
		"/name: must not be empty":      func(s *deadletter.Source) { s.Name = "" },
		"/name: contains":               func(s *deadletter.Source) { s.Name = "a\nb" },
		"/driver: must not be empty":    func(s *deadletter.Source) { s.Driver = "" },
		"/url: is 2049":                 func(s *deadletter.Source) { s.URL = strings.Repeat("x", 2049) },
		"/queue: is 256":                func(s *deadletter.Source) { s.Queue = strings.Repeat("x", 256) },
		"/format: is 256":               func(s *deadletter.Source) { s.Format = strings.Repeat("x", 256) },
		"/targets: has 101":             func(s *deadletter.Source) { s.Targets = make([]string, 101) },
		"/targets/0: must not be empty": func(s *deadletter.Source) { s.Targets = []string{""} },
		"/targets/1: may have one *":    func(s *deadletter.Source) { s.Targets = []string{"*", "a*b"} },
		"/targets/0: may have one *":    func(s *deadletter.Source) { s.Targets = []string{"a**"} },
		"/max_replays: must be from 1":  func(s *deadletter.Source) { s.MaxReplays = -1 },
		"/max_open: must be from 0":     func(s *deadletter.Source) { s.MaxOpen = -1 },
	} {
		s := s
		change(&s)
		expect(t, s.Validate(), want)
	}
}
