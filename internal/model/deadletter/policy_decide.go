package deadletter

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The defaults of policies and sources.
const (
	DefaultMaxRetries = 3
	DefaultBase       = time.Minute
	DefaultCap        = time.Hour
	DefaultMultiplier = 2
	DefaultMaxReplays = 3
)

// DefaultAge applies to policies set through an interface that promises an end.
const DefaultAge = 7 * 24 * time.Hour

// The bounds of policies and sources.
const (
	MaxRetriesLimit = MaxReplayCount
	MaxDelay        = task.MaxDelay
	MaxMultiplier   = 100
	MaxAgeLimit     = 10 * 365 * 24 * time.Hour
	MaxTypes        = 100
	MaxTargets      = 100
	MaxOpenLimit    = 100_000_000
	MaxURL          = 2048
)

// Verdict is a policy's decision about a letter.
type Verdict string

// The verdicts.
const (
	VerdictSend    Verdict = "send"
	VerdictLeave   Verdict = "leave"
	VerdictDiscard Verdict = "discard"
)

// Decision is a verdict with its reason.
type Decision struct {
	Verdict Verdict
	At      task.Instant
	Reason  string
}

// Decide decides about an open letter. chance in [0,1) places the jitter. The first of these applies:
//
//   - Discard test events, if DiscardTests is set, even under a manual policy.
//   - Leave letters that were cut or whose type the policy does not name.
//   - Discard letters older than MaxAge or sent back MaxRetries times, or leave them with KeepExhausted. A failed
//     send counts until one succeeds.
//   - Leave parked letters.
//   - Send all others at a time counted from now.
func (p *Policy) Decide(l *Letter, now task.Instant, chance float64) Decision {
	switch why, sends := l.MaySend(true); {
	case p.DiscardTests && (l.State == model.LetterOpen || l.State == model.LetterScheduled) &&
		strings.HasPrefix(l.MessageID, TestPrefix):
		return Decision{Verdict: VerdictDiscard, Reason: ReasonTest}
	case p.Strategy == model.Manual || p.Strategy == "":
		return Decision{Verdict: VerdictLeave}
	case !sends:
		return Decision{Verdict: VerdictLeave, Reason: why}
	case len(p.OnlyTypes) > 0 && !slices.Contains(p.OnlyTypes, l.Failure.Type):
		return Decision{Verdict: VerdictLeave, Reason: "the policy does not name its error type"}
	case p.MaxAge > 0 && now.Sub(l.FirstAt) > p.MaxAge:
		return p.exhausted(l, fmt.Sprintf("%s %s ago, the greatest age of the policy", reasonAge, p.MaxAge))
	case l.Sends()+l.FailedSends >= p.MaxRetries:
		return p.exhausted(l, p.tried(l))
	}
	if why, sends := l.MaySend(false); !sends {
		return Decision{Verdict: VerdictLeave, Reason: why}
	}
	return Decision{Verdict: VerdictSend, At: p.due(l, now, chance)}
}

// The reasons of a policy: ReasonTest in full, the others by their beginnings.
const (
	ReasonTest    = "test event: its ID begins with " + TestPrefix
	reasonAge     = "it died more than"
	reasonRetries = "it was sent back"
)

// ReasonPrefix begins a policy's reasons to discard.
const ReasonPrefix = "policy: "

// DiscardKind classifies why a letter was discarded.
type DiscardKind string

// The kinds of discards.
const (
	DiscardMaxRetries DiscardKind = "max_retries"
	DiscardMaxAge     DiscardKind = "max_age"
	DiscardTestEvent  DiscardKind = "test_event"
	DiscardManual     DiscardKind = "manual"
)

// KindOfDiscard classifies a reason.
func KindOfDiscard(reason string) DiscardKind {
	rest, policy := strings.CutPrefix(reason, ReasonPrefix)
	switch {
	case policy && rest == ReasonTest:
		return DiscardTestEvent
	case policy && strings.HasPrefix(rest, reasonAge):
		return DiscardMaxAge
	case policy && strings.HasPrefix(rest, reasonRetries):
		return DiscardMaxRetries
	}
	return DiscardManual
}

func (p *Policy) tried(l *Letter) string {
	failed := ""
	if l.FailedSends > 0 {
		failed = fmt.Sprintf(", and %d sends failed", l.FailedSends)
	}
	return fmt.Sprintf("%s %d times%s; the policy allows %d", reasonRetries, l.Sends(), failed, p.MaxRetries)
}

// exhausted leaves a letter that may have arrived to an operator.
func (p *Policy) exhausted(l *Letter, reason string) Decision {
	if p.KeepExhausted || l.Unknown {
		return Decision{Verdict: VerdictLeave, Reason: reason}
	}
	return Decision{Verdict: VerdictDiscard, Reason: reason}
}

// due delays an immediate policy after a failed send like the default exponential one, so that a short outage does
// not use up all retries.
func (p *Policy) due(l *Letter, now task.Instant, chance float64) task.Instant {
	delay, tries := 0.0, float64(l.Sends()+l.FailedSends)
	switch p.Strategy {
	case model.Immediate:
		if l.FailedSends > 0 {
			delay = growing(DefaultBase, DefaultMultiplier, float64(l.FailedSends-1), DefaultCap)
		}
	case model.Fixed:
		delay = float64(p.Base)
	case model.Exponential:
		delay = growing(p.Base, p.Multiplier, tries, p.Cap)
	case model.Scheduled:
		delay = float64(p.untilTimeOfDay(now))
	}
	if p.Strategy != model.Scheduled {
		delay *= 1 + p.Jitter*(2*chance-1)
	} else { // never before the time of day
		delay += p.Jitter * chance * float64(p.Base)
	}
	return now.Add(time.Duration(math.Min(max(delay, 0), float64(MaxDelay))))
}

// Parks returns the number of replays that parks a letter: maxReplays of its source, or the policy's retries if more
// (nil: none). A policy bounds its own sends; max_replays, mostly a default, those of operators.
func (p *Policy) Parks(maxReplays int) int {
	if p == nil || p.Strategy == model.Manual || maxReplays <= 0 {
		return maxReplays
	}
	return max(maxReplays, p.MaxRetries)
}

func growing(base time.Duration, multiplier, tries float64, most time.Duration) float64 {
	return math.Min(float64(base)*math.Pow(multiplier, tries), float64(most))
}

// untilTimeOfDay is more than 0, at most a day.
func (p *Policy) untilTimeOfDay(now task.Instant) time.Duration {
	const day = 24 * time.Hour
	today := time.Duration(now%task.Instant(day.Microseconds())) * time.Microsecond
	wait := p.At - today
	if wait <= 0 {
		wait += day
	}
	return wait
}

// WithDefaults sets each zero field that the strategy needs.
func (p Policy) WithDefaults() Policy {
	if p.Strategy = cmp.Or(p.Strategy, model.Manual); p.Strategy == model.Manual {
		return p
	}
	p.MaxRetries = cmp.Or(p.MaxRetries, DefaultMaxRetries)
	if p.Strategy == model.Fixed || p.Strategy == model.Exponential {
		p.Base = cmp.Or(p.Base, DefaultBase)
	}
	if p.Strategy == model.Exponential {
		p.Multiplier = cmp.Or(p.Multiplier, DefaultMultiplier)
		p.Cap = cmp.Or(p.Cap, max(DefaultCap, p.Base))
	}
	return p
}

// Validate requires defaults, and locates problems at JSON pointers.
func (p *Policy) Validate() []task.Problem {
	var list problems
	list.text("/source", p.Source, task.MaxName)
	list.text("/origin", p.Origin, task.MaxName)
	list.oneOf("/strategy", string(p.Strategy), words(model.Strategies)...)
	if p.Strategy != model.Manual {
		list.between("/max_retries", float64(p.MaxRetries), 1, MaxRetriesLimit)
	}
	list.within("/base", p.Base, 0, MaxDelay)
	list.within("/cap", p.Cap, 0, MaxDelay)
	list.when(p.Strategy == model.Exponential && p.Cap < p.Base, "/cap", "must not be shorter than base")
	if p.Strategy == model.Exponential || p.Multiplier != 0 {
		list.between("/multiplier", p.Multiplier, 1, MaxMultiplier)
	}
	list.between("/jitter", p.Jitter, 0, 1)
	list.within("/at", p.At, 0, 24*time.Hour-time.Microsecond)
	list.within("/max_age", p.MaxAge, 0, MaxAgeLimit)
	list.names("/only_types", p.OnlyTypes, MaxTypes)
	return list
}

// Allows reports whether letters may go to a destination: their origin, "", or a target of the source. The origin of
// a reported letter is a claim, which must not make this server call any URL, so only targets count.
func (s *Source) Allows(destination, origin string) bool {
	if s.Driver == DriverHTTP {
		return s.allowsPost(cmp.Or(destination, origin))
	}
	if destination == "" || destination == origin {
		return origin != ""
	}
	return slices.ContainsFunc(s.Targets, func(target string) bool {
		prefix, open := strings.CutSuffix(target, "*")
		return target == destination || open && strings.HasPrefix(destination, prefix)
	})
}

// allowsPost is Allows for URLs. A stored target that is no valid URL allows nothing.
func (s *Source) allowsPost(destination string) bool {
	u, fault := posturl.Parse(destination)
	return fault == "" && slices.ContainsFunc(s.Targets, func(text string) bool {
		target, fault := posturl.ParseTarget(text)
		return fault == "" && target.Allows(u)
	})
}

// WithDefaults sets each zero field that needs a default.
func (s Source) WithDefaults() Source {
	s.MaxReplays = cmp.Or(s.MaxReplays, DefaultMaxReplays)
	return s
}

// Validate requires defaults, and locates problems at JSON pointers. It does not check that drivers and formats
// exist.
func (s *Source) Validate() []task.Problem {
	var p problems
	p.name("/name", s.Name)
	p.name("/driver", s.Driver)
	p.text("/url", s.URL, MaxURL)
	p.text("/queue", s.Queue, task.MaxName)
	p.text("/format", s.Format, task.MaxName)
	p.entries("/targets", len(s.Targets), MaxTargets)
	for i, target := range s.Targets {
		at := fmt.Sprintf("/targets/%d", i)
		p.name(at, target)
		switch {
		case s.Driver == DriverHTTP:
			_, fault := posturl.ParseTarget(target)
			p.when(fault != "", at, fault)
		case strings.Contains(strings.TrimSuffix(target, "*"), "*"):
			p.add(at, "may have one *, at its end")
		case posturl.HasUser(target):
			p.add(at, "must not have a user or a password: answers and logs would show them")
		}
	}
	p.between("/max_replays", float64(s.MaxReplays), 1, MaxReplayCount)
	p.between("/max_open", float64(s.MaxOpen), 0, MaxOpenLimit)
	if s.Intake != nil {
		s.Intake.validate(s, &p)
	}
	for _, fault := range sensitive.Check(s.Sensitive) {
		at := "/sensitive"
		if fault.Index >= 0 {
			at = fmt.Sprintf("/sensitive/%d", fault.Index)
		}
		p.add(at, fault.Message)
	}
	p.names("/sensitive_headers", s.SensitiveHeaders, sensitive.MaxPointers)
	return p
}
