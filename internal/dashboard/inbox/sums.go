package inbox

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

// by is a property of groups for sums.
type by struct {
	Name, Title string
	of          func(g *deadletters.Group) string
	filter      string // parameter of the inbox that selects one value
}

var bys = []by{
	{"where", "By handler or source", func(g *deadletters.Group) string { return g.Fingerprint.Where }, "where"},
	{"owner", "By owner", func(g *deadletters.Group) string { return g.Owner }, "owner"},
	{"error", "By error type", func(g *deadletters.Group) string { return g.Fingerprint.Type }, "text"},
	{"namespace", "By namespace", func(g *deadletters.Group) string { return g.Namespace }, "namespace"},
}

// sum is the total of groups with the same value.
type sum struct {
	Name           string
	URL            string // the inbox with only those; "" if it cannot select them
	Groups         int
	Open, Failures int64
	LastAt         time.Time
}

// summedGroups bounds the groups in sums.
const summedGroups = 1000

func (p *pages) sumUp(r *page.Request, out *groupList, b by) error {
	filter := groupFilter(r)
	filter.Limit = summedGroups
	got, err := p.letters.Groups(r.Context(), filter)
	if err != nil {
		return err
	}
	at := map[string]*sum{}
	for i := range got.Groups {
		g := &got.Groups[i]
		value := b.of(g)
		s := at[value]
		if s == nil {
			s = &sum{Name: value, URL: r.URL("by", "", b.filter, value)}
			if value == "" {
				s.Name, s.URL = "none", ""
			}
			at[value] = s
		}
		s.Groups++
		s.Open += g.OpenLetters + g.OpenCases
		s.Failures += g.Failures
		if g.LastAt.After(s.LastAt) {
			s.LastAt = g.LastAt
		}
	}
	for _, s := range at {
		out.Sums = append(out.Sums, *s)
	}
	slices.SortFunc(out.Sums, func(a, b sum) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Failures, a.Failures), strings.Compare(a.Name, b.Name))
	})
	out.By, out.Cut = strings.TrimPrefix(b.Title, "By "), got.NextCursor != ""
	return nil
}
