package redrives

import (
	"cmp"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type draft struct {
	Operation deadletters.Operation
	Selection deadletters.Selection
	Words     string
	Groups    string // as the form carries them
	IDs       string
	Preview   previewed
}

type previewed struct {
	*deadletters.Preview
	Operation deadletters.Operation
}

func (p *pages) draft(r *page.Request) (out draft, err error) {
	out.Operation = deadletters.Operation(r.Query("operation"))
	out.Operation = cmp.Or(out.Operation, deadletters.OpRedrive)
	if out.Selection, err = selection(r.Query); err != nil {
		return out, err
	}
	out.Words, out.Groups, out.IDs = words(&out.Selection), r.Query("groups"), r.Query("ids")
	out.Preview.Operation = out.Operation
	out.Preview.Preview, err = p.letters.PreviewRedrive(r.Context(),
		deadletters.RedriveRequest{Operation: out.Operation, Selection: out.Selection})
	return out, err
}

func selection(get func(name string) string) (s deadletters.Selection, err error) {
	s = deadletters.Selection{Namespace: get("namespace"), Kind: deadletters.Kind(get("kind")), Source: get("source"),
		Origin: get("origin"), Template: get("template"), State: deadletters.LetterState(get("state")),
		ErrorType: get("error_type"), Text: get("text")}
	if groups := get("groups"); groups != "" {
		s.Groups = strings.Split(groups, ",")
	}
	for id := range strings.SplitSeq(get("ids"), ",") {
		if id == "" {
			continue
		}
		one, err := uuid.Parse(id)
		if err != nil {
			return s, page.BadField("ids", "must be UUIDs with commas between them")
		}
		s.IDs = append(s.IDs, one)
	}
	return s, nil
}

func request(r *page.Request) (req deadletters.RedriveRequest, err error) {
	req.Operation, req.Destination = deadletters.Operation(r.Form("operation")), r.Form("destination")
	req.IncludeParked, req.Start = r.Form("parked") != "", r.Form("start") != ""
	req.Act = deadletters.Act{Actor: r.Name, Reason: r.Form("reason")}
	if req.Selection, err = selection(r.Form); err != nil {
		return req, err
	}
	for name, to := range map[string]*int{"canary": &req.Plan.Canary, "largest": &req.Plan.Largest,
		"limit": &req.Plan.Limit, "same": &req.Stop.SamePrint, "failed": &req.Stop.Failed} {
		if *to, err = r.FormInt(name); err != nil {
			return req, err
		}
	}
	for name, to := range map[string]*float64{"factor": &req.Plan.Factor, "observe": &req.Plan.ObserveSeconds,
		"rate": &req.Plan.Rate} {
		if *to, err = r.FormFloat(name); err != nil {
			return req, err
		}
	}
	share, err := r.FormFloat("share")
	req.Stop.ReturnedShare = share / 100
	return req, err
}

func (p *pages) preview(r *page.Request) (out previewed, err error) {
	req, err := request(r)
	if err != nil {
		return out, err
	}
	req.Start = false
	out.Operation = req.Operation
	out.Preview, err = p.letters.PreviewRedrive(r.Context(), req)
	return out, err
}

func (p *pages) create(r *page.Request) (page.Done, error) {
	req, err := request(r)
	if err != nil {
		return page.Done{}, err
	}
	got, err := p.letters.CreateRedrive(r.Context(), req)
	if err != nil {
		return page.Done{}, err
	}
	say := page.Plural(got.Total, "item") + " selected. What comes later is not included."
	if req.Start {
		say += " It runs."
	}
	return page.Done{To: "/redrives/" + got.RedriveUUID.String(), Say: say}, nil
}
