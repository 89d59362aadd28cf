package inbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/diff"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type comparison struct {
	A, B *deadletters.LetterStory
	// Differ are the facts and headers with different values, Same the others.
	Differ, Same []pair
	// Payload is the difference from A to B; empty if equal.
	Payload []diff.Line
	// Plain: a payload is not JSON. Equal: the payloads are.
	Plain, Equal bool
}

type pair struct{ Field, A, B string }

func (p *pages) compareLetters(r *page.Request) (out comparison, err error) {
	ids := r.QueryAll("letter")
	if len(ids) != 2 {
		return out, page.BadField("letter", "names two letters: select exactly two")
	}
	var got [2]*deadletters.LetterStory
	for i, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			return out, page.BadField("letter", "must be a UUID")
		}
		if got[i], err = p.letters.Letter(r.Context(), id); err != nil {
			return out, err
		}
	}
	out.A, out.B = got[0], got[1]
	for _, f := range pairs(factsOf(out.A), factsOf(out.B)) {
		if f.A == f.B {
			out.Same = append(out.Same, f)
		} else {
			out.Differ = append(out.Differ, f)
		}
	}
	a, b := textOf(&out.A.Original), textOf(&out.B.Original)
	out.Plain, out.Equal = a.Kind == "binary" || b.Kind == "binary", a.Text == b.Text && a.Size == b.Size
	if !out.Equal {
		out.Payload = diff.Fold(diff.Lines(strings.Split(a.Text, "\n"), strings.Split(b.Text, "\n")), 3)
	}
	return out, nil
}

type fact struct{ field, value string }

func factsOf(l *deadletters.LetterStory) []fact {
	out := []fact{{"error type", l.Failure.Type}, {"error code", l.Failure.Code}, {"error", l.Failure.Message},
		{"consumer", l.Handler}, {"source", l.Source}, {"origin", l.Origin}, {"group", l.GroupID},
		{"state", string(l.State)}, {"died", fmt.Sprint(l.Occurrences)}, {"attempts", fmt.Sprint(l.Attempts)},
		{"sent back", fmt.Sprint(l.Replays)}, {"key", string(l.Original.Key)}, {"size", page.Bytes(l.SizeBytes)}}
	for _, h := range l.Original.Headers {
		value := h.Value
		if h.ValueBase64 != nil {
			value = fmt.Sprintf("%x", h.ValueBase64)
		}
		out = append(out, fact{"header " + h.Name, value})
	}
	return out
}

// pairs joins the facts of two letters, in the order of the first. Repeated fields are paired in order.
func pairs(a, b []fact) (out []pair) {
	b = slices.Clone(b)
	for _, f := range a {
		p := pair{Field: f.field, A: f.value}
		if i := slices.IndexFunc(b, func(g fact) bool { return g.field == f.field }); i >= 0 {
			p.B = b[i].value
			b = slices.Delete(b, i, i+1)
		}
		if p.A != "" || p.B != "" {
			out = append(out, p)
		}
	}
	for _, f := range b {
		out = append(out, pair{Field: f.field, B: f.value})
	}
	return out
}
