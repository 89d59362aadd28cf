package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Policy is a policy of a source or one of its origins, with the keys of the API. Missing fields take the defaults
// of deadletter.Policy; strategy is required.
type Policy struct {
	Origin            string
	Strategy          string
	MaxRetries        int
	KeepExhausted     bool
	BaseSeconds       float64
	CapSeconds        float64
	Multiplier        float64
	Jitter            float64
	TimeOfDay         string
	MaxAgeSeconds     float64
	OnlyErrorTypes    []string
	DiscardTestEvents bool
	CopyRetries       bool
}

func (p *Policy) domain(of *deadletter.Source) (*deadletter.Policy, error) {
	at, err := deadletter.ParseTimeOfDay(p.TimeOfDay)
	out := deadletter.Policy{Namespace: of.Namespace, Source: of.Name, Origin: p.Origin,
		Strategy: model.Strategy(p.Strategy), MaxRetries: p.MaxRetries, KeepExhausted: p.KeepExhausted,
		Base: duration(p.BaseSeconds), Cap: duration(p.CapSeconds), Multiplier: p.Multiplier, Jitter: p.Jitter, At: at,
		MaxAge: duration(p.MaxAgeSeconds), OnlyTypes: p.OnlyErrorTypes, DiscardTests: p.DiscardTestEvents,
		CopyRetries: p.CopyRetries}.WithDefaults()
	return &out, err
}

// duration converts seconds, an invalid number to a duration that every policy refuses.
func duration(seconds float64) time.Duration {
	const most = 2 * deadletter.MaxAgeLimit
	if seconds >= 0 && seconds <= most.Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	return -1
}

// position is the line and column behind a file name.
var position = regexp.MustCompile(`:\d+:\d+$`)

// DeadLetterPolicies returns the configured policies with defaults and with their file or variable.
func (c *Config) DeadLetterPolicies() []*deadletter.Policy {
	from := c.origins["sources"]
	setter, by := model.SetByConfiguration, position.ReplaceAllString(from.Place, "")
	if from.Layer == "env" {
		setter = model.SetByEnvironment
	}
	var out []*deadletter.Policy
	sources := c.DeadLetterSources()
	for i := range c.Sources {
		for j := range c.Sources[i].Policies {
			p, err := c.Sources[i].Policies[j].domain(sources[i])
			if err == nil { // Load has checked it
				p.SetFrom, p.SetBy = setter, by
				out = append(out, p)
			}
		}
	}
	return out
}

func (l *loader) validatePolicies(path string, of *deadletter.Source, policies []Policy) {
	first := map[string]int{}
	for i := range policies {
		bad := func(field, format string, args ...any) {
			at := fmt.Sprintf("%s.policies[%d]%s", path, i, field)
			l.problem(l.place(at), at+" "+format, args...)
		}
		p, err := policies[i].domain(of)
		if err != nil {
			bad(".time_of_day", "%v", err)
		}
		for _, fault := range p.Validate() {
			at := fault.Location
			if strings.HasPrefix(at, "/source") {
				continue // the source's report has it
			}
			for domain, public := range deadletter.PolicyFields {
				if rest, ok := strings.CutPrefix(at, domain); ok && (rest == "" || rest[0] == '/') {
					at = public + rest
					break
				}
			}
			bad(fieldPath(at), "%s", fault.Message)
		}
		if of, twice := first[p.Origin]; twice {
			bad(".origin", "is that of policies[%d] too", of)
		} else {
			first[p.Origin] = i
		}
	}
}
