package sources

import (
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type sourcePage struct {
	row
	Policies []policy
	Letters  []deadletters.Letter // the newest
	Seen     bool                 // the viewer may see letters
	Manages  bool
}

// OnBroker is "" where the number is unknown.
func (s sourcePage) OnBroker() string {
	if s.Waiting == nil {
		return ""
	}
	return page.Plural(*s.Waiting, "message")
}

// newest is the number of letters on the page about a source.
const newest = 5

func (p *pages) source(r *page.Request) (out sourcePage, err error) {
	got, err := p.letters.Source(r.Context(), r.Path("namespace"), r.Path("name"))
	if err != nil {
		return out, err
	}
	out = sourcePage{row: row{*got}, Seen: r.Can(seesLetters...), Manages: r.Can(manages...)}
	for _, one := range got.Policies {
		out.Policies = append(out.Policies, policy{one})
	}
	if !out.Seen {
		return out, nil
	}
	letters, err := p.letters.Letters(r.Context(), deadletters.LetterFilter{Limit: newest,
		Selection: deadletters.Selection{Namespace: got.Namespace, Source: got.Name}})
	if err != nil {
		return out, err
	}
	out.Letters = letters.Letters
	return out, nil
}

func (p *pages) test(r *page.Request) (*deadletters.SourceStatus, error) {
	return p.letters.TestSource(r.Context(), r.Path("namespace"), r.Path("name"))
}

func (p *pages) pause(r *page.Request) (page.Done, error) {
	namespace, name, paused := r.Path("namespace"), r.Path("name"), r.Form("do") == "pause"
	_, err := p.letters.PauseSource(r.Context(), namespace, name, paused,
		deadletters.Act{Actor: r.Name, Reason: r.Form("reason"), IfMatch: r.Form("etag")})
	say := "It is read again."
	if paused {
		say = "Nothing more is captured from it."
	}
	return page.Done{To: at(namespace, name), Say: say}, err
}
