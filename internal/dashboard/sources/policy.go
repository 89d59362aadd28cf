package sources

import (
	"cmp"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type policy struct {
	deadletters.Policy
}

func (p policy) Words() string {
	var say []string
	wait := span(p.BaseSeconds)
	switch p.Strategy {
	case deadletters.Immediate:
		say = append(say, "Sends each letter back at once.")
	case deadletters.Fixed:
		say = append(say, "Sends each letter back "+wait+" after its failure.")
	case deadletters.Exponential:
		say = append(say, "Sends each letter back "+wait+" after its failure, and waits "+page.Number(p.Multiplier)+
			" times as long after every further one, "+span(p.CapSeconds)+" at most.")
	case deadletters.Scheduled:
		say = append(say, "Sends letters back at "+cmp.Or(p.TimeOfDay, "00:00")+" UTC.")
	default:
		say = append(say, "Leaves every letter to an operator.")
	}
	say = append(say, p.ends()...)
	if len(p.OnlyTypes) > 0 {
		say = append(say, "It is only for errors of the type "+strings.Join(p.OnlyTypes, ", ")+".")
	}
	if p.DiscardTests {
		say = append(say, "It discards messages whose ID begins with test-.")
	}
	if p.CopyRetries {
		say = append(say, "A copy of what it sends goes to the destination with -retry behind its name.")
	}
	return strings.Join(say, " ")
}

func (p policy) ends() (say []string) {
	then := " is discarded."
	if p.KeepExhausted {
		then = " stays open."
	}
	if p.Strategy != deadletters.Manual {
		say = append(say, "A letter that fails again after "+page.Plural(p.MaxRetries, "replay")+then)
	}
	if p.MaxAgeSeconds > 0 {
		say = append(say, "One that failed first more than "+span(p.MaxAgeSeconds)+" ago"+then)
	}
	return say
}

func (p policy) From() string {
	switch p.SetFrom {
	case deadletters.SetByPreset:
		return "the preset " + p.SetBy
	case deadletters.SetByConfiguration:
		return "the configuration of the node"
	case deadletters.SetByEnvironment:
		return "variables of the node"
	case deadletters.SetByDefault:
		return "nobody has set it"
	}
	return p.SetBy
}

func span(seconds float64) string { return page.Span(time.Duration(seconds * float64(time.Second))) }

// setPolicy changes the settings that most policies differ in; the others stay as in the policy that the viewer saw.
func (p *pages) setPolicy(r *page.Request) (page.Done, error) {
	namespace, name := r.Path("namespace"), r.Path("name")
	got, err := p.letters.Source(r.Context(), namespace, name)
	if err != nil {
		return page.Done{}, err
	}
	req := deadletters.PolicyRequest{Act: deadletters.Act{Actor: r.Name, Reason: r.Form("reason"),
		IfMatch: r.Form("etag")}}
	for _, one := range got.Policies {
		if one.Source == name && one.Origin == r.Form("origin") {
			req.Policy = one
		}
	}
	req.Namespace, req.Source, req.Origin = namespace, name, r.Form("origin")
	req.Strategy, req.TimeOfDay = deadletters.Strategy(r.Form("strategy")), r.Form("time_of_day")
	req.KeepExhausted, req.SetFrom = r.Form("keep_exhausted") != "", ""
	if req.MaxRetries, err = r.FormInt("max_retries"); err != nil {
		return page.Done{}, err
	}
	for field, to := range map[string]*float64{"base_seconds": &req.BaseSeconds, "cap_seconds": &req.CapSeconds,
		"multiplier": &req.Multiplier} {
		if *to, err = r.FormFloat(field); err != nil {
			return page.Done{}, err
		}
	}
	saved, err := p.letters.SavePolicy(r.Context(), req)
	if err != nil {
		return page.Done{}, err
	}
	return page.Done{To: at(namespace, name), Say: "The policy is set. " + policy{*saved}.Words()}, nil
}
