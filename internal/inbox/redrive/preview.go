package redrive

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	previewed    = 10_000
	shownSamples = 10
)

// PreviewRedrive returns the effect of an operation and the reasons to refuse it. It stores nothing. It tries
// destinations and edits on the newest 10,000 letters of the selection.
func (in *Redriver) PreviewRedrive(ctx context.Context, req Request) (*Preview, error) {
	if err := in.settle(ctx, &req); err != nil {
		return nil, err
	}
	return in.preview(ctx, &req)
}

func (in *Redriver) preview(ctx context.Context, req *Request) (*Preview, error) {
	p := &Preview{Plan: req.Plan.WithDefaults(), Stop: req.Stop.WithDefaults()}
	// A malformed request is not tried: its selection may not mean what the caller thinks.
	if p.Problems = in.check(req, p.Plan); len(p.Problems) > 0 {
		return p, nil
	}
	v := &previewer{in: in, ctx: ctx, req: req, out: p, checks: map[outbox.Place]*model.DestinationCheck{}}
	if err := v.run(); err != nil {
		return nil, err
	}
	if limit := req.Plan.Limit; limit > 0 && p.Total >= limit {
		p.Total, p.Capped = limit, false
	}
	if p.Total == 0 && len(p.Problems) == 0 {
		p.empty = true
		p.Problems = []task.Problem{{Location: "/selection", Message: "selects nothing"}}
	}
	return p, nil
}

// settle fills in the open parts of a selection: the only namespace of the key, the states for the operation, and the
// groups merged into the selected ones. A group that is merged later stays out.
func (in *Redriver) settle(ctx context.Context, req *Request) error {
	namespace, err := desk.Narrow(ctx, req.Selection.Namespace)
	if err != nil {
		return err
	}
	if namespace == "" {
		if namespace, err = in.namespaceOf(ctx, &req.Selection); err != nil {
			return err
		}
	}
	req.Selection.Namespace, req.Selection.Masked = namespace, desk.Masked(ctx)
	req.Selection.State = cmp.Or(req.Selection.State, statesFor(req.Operation)[0])
	if req.Operation == model.OpRestore { // a case cannot be restored
		req.Selection.Kind = cmp.Or(req.Selection.Kind, model.KindLetter)
	}
	req.Selection.Groups, err = in.letters.WithMerged(ctx, req.Selection.Groups)
	return err
}

// namespaceOf returns the namespace of the first group or letter that a selection names; Invalid if it names none.
// Members of other namespaces are not selected.
func (in *Redriver) namespaceOf(ctx context.Context, s *deadletter.Selection) (string, error) {
	if len(s.Groups) > 0 {
		g, err := in.groups.GroupOf(ctx, s.Groups[0])
		if err != nil {
			return "", err
		}
		return g.Namespace, nil
	}
	if len(s.IDs) > 0 {
		l, err := in.store.FindLetter(ctx, s.IDs[0])
		if err != nil {
			return "", err
		}
		if l != nil && desk.Reaches(ctx, l.Namespace) {
			return l.Namespace, nil
		}
	}
	return "", desk.Invalid("the selection names no namespace", "/selection/namespace",
		"is missing: an operation stays within one namespace; name it, or groups or letters of it")
}

func (in *Redriver) check(req *Request, plan deadletter.Plan) []task.Problem {
	var f desk.Faults
	within := func(at string, of []task.Problem) {
		for _, p := range of {
			f.Add(at+p.Location, p.Message)
		}
	}
	redrives := req.Operation == model.OpRedrive
	f.When(!req.Operation.Known(), "/operation", "must be redrive, discard or restore")
	states := statesFor(req.Operation)
	words := fmt.Sprint(states[0])
	for _, s := range states[1:] {
		words += " or " + string(s)
	}
	f.When(!slices.Contains(states, req.Selection.State), "/selection/state", "must be "+words+" for this operation")
	f.When(req.Operation == model.OpRestore && req.Selection.Kind == model.KindCase, "/selection/kind",
		"must be letter: only letters are restored")
	within("/selection", req.Selection.Validate())
	within("/plan", plan.Validate())
	within("/stop", req.Stop.Validate())
	if req.Edit != nil {
		within("/edit", req.Edit.Validate())
	}
	f.When(posturl.HasUser(req.Destination), "/destination",
		"must not have a user or a password: answers and logs would show them")
	f.When(!redrives && (req.Edit != nil || req.Destination != ""), "/operation",
		"only a redrive can edit letters or have a destination")
	_, known := in.Tasks.Level(plan.Priority)
	f.When(!known, "/plan/priority", outbox.Quoted(plan.Priority)+" is not a priority")
	f.When(plan.Replays() && req.Selection.Kind != model.KindCase, "/plan",
		"keep_attempts and priority are for selections of the kind case")
	f.When(plan.Replays() && (!redrives || req.Edit != nil), "/plan",
		"keep_attempts and priority are for the operation redrive, without an edit")
	return f
}

// previewer collects the preview of a selection in out. It looks up each destination once.
type previewer struct {
	in         *Redriver
	ctx        context.Context
	req        *Request
	out        *Preview
	checks     map[outbox.Place]*model.DestinationCheck
	manyPlaces bool // too many destinations to look up, which refuses the operation
}

// askedDestinations bounds the destinations that a preview looks up on brokers: senders claim their origins, so each
// letter may have another one.
const askedDestinations = 200

func (v *previewer) run() error {
	if v.req.Selection.Kind != model.KindCase {
		if err := v.letters(); err != nil {
			return err
		}
	}
	if v.req.Selection.Kind != model.KindLetter {
		if err := v.cases(); err != nil {
			return err
		}
	}
	for _, c := range v.checks {
		v.out.Destinations = append(v.out.Destinations, *c)
		if !c.Allowed {
			v.refuse(outbox.RefusedDestination("the source "+c.Source, c.Destination))
		} else if !c.Exists {
			v.refuse("the destination " + outbox.ShownDestination(c.Destination) + " of the source " + c.Source +
				" does not exist")
		}
	}
	slices.SortFunc(v.out.Destinations, func(a, b model.DestinationCheck) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Destination, b.Destination))
	})
	return nil
}

func (v *previewer) refuse(why string) {
	if !v.req.EachItem {
		v.out.Problems = append(v.out.Problems, task.Problem{Location: "/destination", Message: why})
	}
}

func (v *previewer) letters() error {
	f := letters.LetterFilter{Selection: v.req.Selection, Limit: 500}
	for looked := 0; ; {
		page, err := v.in.store.ListLetters(v.ctx, f)
		if err != nil {
			return err
		}
		for _, l := range page.Letters {
			// The freeze leaves them out too.
			if l.Parked && !v.req.IncludeParked && v.req.Operation == model.OpRedrive {
				continue
			}
			v.out.Total++
			if err := v.letter(l); err != nil {
				return err
			}
		}
		if page.Next.IsZero() {
			return nil
		}
		// An empty page counts as one letter, so that a search without results ends.
		if looked += max(len(page.Letters), 1); looked >= previewed {
			v.out.Capped = true
			return nil
		}
		f.Below = page.Next
	}
}

func statesFor(op model.Operation) []model.LetterState {
	if op == model.OpRestore {
		return []model.LetterState{model.LetterDiscarded}
	}
	return []model.LetterState{model.LetterOpen, model.LetterScheduled}
}

func (v *previewer) letter(l *deadletter.Letter) error {
	item := PreviewItem{Kind: model.KindLetter, ID: l.ID}
	if v.req.Operation == model.OpRedrive {
		item.Destination = outbox.Destination(v.req.Destination, l)
		if err := v.check(l, item.Destination); err != nil {
			return err
		}
	}
	if len(v.out.Samples) >= shownSamples {
		return nil
	}
	if v.req.Edit != nil {
		// The list omits large payloads, and an edit needs the whole.
		whole, err := v.in.store.FindLetter(v.ctx, l.ID)
		if err != nil || whole == nil {
			return err
		}
		edited, err := v.req.Edit.Apply(whole.Outgoing())
		if err != nil {
			item.Problem = desk.ItemMessage(err)
		} else {
			item.Changes = deadletter.Diff(whole.Outgoing(), edited)
		}
	}
	v.out.Samples = append(v.out.Samples, item)
	return nil
}

// check looks up the destinations of letters, but only allowed ones: the lookup alone could reach a foreign host.
func (v *previewer) check(l *deadletter.Letter, destination string) error {
	at := outbox.Place{Source: deadletter.SourceKey{Namespace: l.Namespace, Name: l.Source}, Destination: destination}
	if c := v.checks[at]; c != nil {
		c.Letters++
		return nil
	}
	if len(v.checks) >= askedDestinations {
		if !v.manyPlaces {
			v.refuse(fmt.Sprintf("the letters have more than %d destinations: name one, or restrict the selection",
				askedDestinations))
		}
		v.manyPlaces = true
		return nil
	}
	c := &model.DestinationCheck{Source: l.Source, Destination: destination, Letters: 1}
	v.checks[at] = c
	s, err := v.in.store.FindSource(v.ctx, l.Namespace, l.Source)
	if err != nil || s == nil {
		return err
	}
	sender := v.in.carriers[s.Driver]
	if c.Allowed = outbox.Allows(s, destination, l.Origin); !c.Allowed || sender == nil {
		return nil
	}
	if c.Exists, err = sender.Exists(v.ctx, s, destination); err != nil {
		v.refuse(seam.Unasked(s, err))
		c.Exists = true // unknown; the problem says so
	}
	return nil
}

// cases counts the selected pending cases, up to the bound. Their tasks are here, so they need no destination.
func (v *previewer) cases() error {
	found, capped, err := v.in.store.SelectCases(v.ctx, v.req.Selection, previewed)
	if err != nil {
		return err
	}
	v.out.Total += len(found)
	v.out.Capped = v.out.Capped || capped
	for _, id := range found[:min(len(found), shownSamples-len(v.out.Samples))] {
		v.out.Samples = append(v.out.Samples, PreviewItem{Kind: model.KindCase, ID: id})
	}
	return nil
}

// Preview is the effect of an operation. Nothing is stored.
type Preview struct {
	Total        int // letters and cases, without excluded parked letters
	Capped       bool
	Samples      []PreviewItem
	Destinations []model.DestinationCheck
	Problems     []task.Problem
	Plan         deadletter.Plan
	Stop         deadletter.StopRule
	empty        bool // the only problem is the empty selection, which is also in Problems
}

// PreviewItem is one sample of a preview.
type PreviewItem struct {
	Kind        model.Kind
	ID          task.ID
	Destination string
	Changes     []model.Change
	Problem     string // why the edit does not apply; "" if it does
}
