package inbox

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type groupPage struct {
	Group   *deadletters.GroupStory
	Letters []deadletters.Letter // the newest
	Cases   []deadletters.PreviewItem
	Shares  []share
	Of      int // letters that the shares are about
	Sees    bool
	Triage  bool
	Redrive bool
	Discard bool
	Others  []deadletters.Group // that it may be merged with
	Chart   template.HTML
}

// Numbers of letters that a group page shows, and compares.
const (
	shownLetters    = 20
	comparedLetters = 200
)

func (p *pages) group(r *page.Request) (out groupPage, err error) {
	id := r.Path("group")
	if !isGroupID(id) {
		return out, tasker.Errorf(tasker.CodeNotFound, "there is no group %q", id)
	}
	if out.Group, err = p.letters.Group(r.Context(), id); err != nil {
		return out, err
	}
	out.Chart = timeOf(r, &out.Group.Group)
	out.Triage, out.Sees = r.Can(triages...), r.Can(seesLetters...)
	out.Redrive, out.Discard = r.Can(redrives...), r.Can(discards...)
	if out.Sees {
		got, err := p.letters.Letters(r.Context(), deadletters.LetterFilter{Limit: comparedLetters,
			Selection: deadletters.Selection{Groups: []string{id}, Namespace: out.Group.Namespace}})
		if err != nil {
			return out, err
		}
		out.Of, out.Shares = len(got.Letters), compare(got.Letters)
		out.Letters = got.Letters[:min(len(got.Letters), shownLetters)]
	}
	if out.Group.OpenCases > 0 && r.Can(triages...) {
		got, err := p.letters.PreviewRedrive(r.Context(), deadletters.RedriveRequest{Operation: deadletters.OpRedrive,
			Selection: deadletters.Selection{Groups: []string{id}, Kind: deadletters.KindCase}})
		if err == nil { // a sample; the number of cases is known without it
			out.Cases = got.Samples
		}
	}
	if out.Triage && out.Group.MergedInto == "" {
		others, err := p.letters.Groups(r.Context(), deadletters.GroupFilter{Namespace: out.Group.Namespace, OpenOnly: true,
			Limit: 100})
		if err != nil {
			return out, err
		}
		out.Others = slices.DeleteFunc(others.Groups, func(g deadletters.Group) bool { return g.GroupID == id })
	}
	return out, nil
}

// isGroupID accepts 16 hexadecimal digits.
func isGroupID(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 16
}

// share has the values of one field in the letters of a group.
type share struct {
	Field  string
	Values []valueShare // the most frequent first
	More   int          // values that are not shown
}

type valueShare struct {
	Value string
	Count int
}

// Same: every letter with the field has the same value.
func (s share) Same() bool { return len(s.Values) == 1 && s.More == 0 }

// Bounds of the values of a field, and of the compared fields of payloads.
const (
	shownValues    = 4
	comparedFields = 40
)

// compare returns the frequencies of values of fields, including those of payloads. It omits a field that differs in
// every letter.
func compare(letters []deadletters.Letter) []share {
	counts, order := map[string]map[string]int{}, []string{}
	add := func(field, value string) {
		if value == "" {
			return
		}
		if counts[field] == nil {
			if len(order) >= comparedFields {
				return
			}
			counts[field], order = map[string]int{}, append(order, field)
		}
		counts[field][value]++
	}
	for i := range letters {
		l := &letters[i]
		add("state", string(l.State))
		add("error type", l.Failure.Type)
		add("error code", l.Failure.Code)
		add("handler", l.Handler)
		add("source", l.Source)
		add("origin", l.Origin)
		add("attempts", fmt.Sprint(l.Attempts))
		add("replays", fmt.Sprint(l.Replays))
		payloadFields(l.Original.Payload, add)
	}
	var out []share
	for _, field := range order {
		if s, useful := shareOf(field, counts[field], len(letters)); useful {
			out = append(out, s)
		}
	}
	return out
}

func payloadFields(payload json.RawMessage, add func(field, value string)) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return // not an object
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := strings.TrimSpace(string(fields[name]))
		if value != "" && value[0] != '{' && value[0] != '[' && len(value) <= 200 {
			add("payload "+name, value)
		}
	}
}

func shareOf(field string, values map[string]int, letters int) (s share, useful bool) {
	s.Field = field
	for v, n := range values {
		s.Values = append(s.Values, valueShare{v, n})
	}
	slices.SortFunc(s.Values, func(a, b valueShare) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Value, b.Value)
	})
	if s.Values[0].Count == 1 && letters > 1 {
		return s, false
	}
	if len(s.Values) > shownValues {
		s.More, s.Values = len(s.Values)-shownValues, s.Values[:shownValues]
	}
	return s, true
}

// act is on the state that the viewer saw.
func act(r *page.Request) deadletters.Act {
	return deadletters.Act{Actor: r.Name, Reason: r.Form("reason"), IfMatch: r.Form("etag")}
}

func (p *pages) changeGroup(r *page.Request) (page.Done, error) {
	id := r.Path("group")
	change := deadletters.GroupChange{Act: act(r), Note: strings.TrimSpace(r.FormRaw("note"))}
	say := "The note is added."
	switch do := r.Form("do"); do {
	case "note":
	case "owner":
		owner := r.Form("owner")
		change.Owner, say = &owner, "The owner is changed."
	case "runbook":
		runbook := r.Form("runbook")
		change.Runbook, say = &runbook, "The runbook is changed."
	case "due":
		due, err := r.FormTime("due")
		if err != nil {
			return page.Done{}, err
		}
		change.DueAt, change.NoDueAt, say = due, due == nil, "The due time is changed."
	default:
		change.State, say = deadletters.GroupState(do), "The group is "+do+"."
		change.ResolvedIn = r.Form("version")
		if do == string(deadletters.GroupIgnored) {
			var err error
			if change.Ignore, err = ignoring(r); err != nil {
				return page.Done{}, err
			}
		}
	}
	_, err := p.letters.ChangeGroup(r.Context(), id, change)
	done := page.Done{To: "/inbox/" + id, Say: say}
	if change.State != "" && change.State != deadletters.GroupOpen {
		done.Offer = reopen("/inbox/"+id+"/change", "do")
	}
	return done, err
}

// ignoring returns until when a group is ignored; nil means until an operator changes that.
func ignoring(r *page.Request) (*deadletters.Ignore, error) {
	var i deadletters.Ignore
	if hours, err := r.FormFloat("hours"); err != nil {
		return nil, err
	} else if hours > 0 {
		until := r.Now.Add(time.Duration(hours * float64(time.Hour)))
		i.Until = &until
	}
	count, err := r.FormInt("count")
	if err != nil {
		return nil, err
	}
	rate, err := r.FormInt("per_hour")
	if err != nil {
		return nil, err
	}
	i.Count, i.PerHour = int64(count), int64(rate)
	if i == (deadletters.Ignore{}) {
		return nil, nil
	}
	return &i, nil
}

// merge makes a group show the failures of others as its own; unmerge and unsplit undo that and a split.
func (p *pages) merge(r *page.Request) (page.Done, error) {
	id := r.Path("group")
	switch r.Form("do") {
	case "unmerge":
		_, err := p.letters.UnmergeGroup(r.Context(), r.Form("member"), act(r))
		return page.Done{To: "/inbox/" + id, Say: "The group stands alone again."}, err
	case "unsplit":
		back, err := p.letters.UnsplitGroup(r.Context(), id, act(r))
		if err != nil {
			return page.Done{}, err
		}
		return page.Done{To: "/inbox/" + back.GroupID, Say: "The split is undone."}, nil
	case "split":
		by := strings.Fields(r.Form("by"))
		if len(by) == 0 {
			return page.Done{}, page.BadField("by", "names what to split by, such as handler")
		}
		rule, err := p.letters.SplitGroup(r.Context(), id, deadletters.SplitRequest{GroupBy: by, Act: act(r)})
		if err != nil {
			return page.Done{}, err
		}
		return page.Done{To: "/inbox", Say: "The group is split by the rule " + rule.Name +
			". Its members move within seconds."}, nil
	}
	groups := r.FormAll("other")
	if len(groups) == 0 {
		return page.Done{}, &tasker.Error{Code: tasker.CodeInvalid, Message: "no group is chosen"}
	}
	_, err := p.letters.MergeGroups(r.Context(), id, deadletters.MergeRequest{Groups: groups, Act: act(r)})
	return page.Done{To: "/inbox/" + id, Say: page.Plural(len(groups), "group") + " merged into this one."}, err
}
