package chart

import (
	"cmp"
	"html/template"
)

// Letter is a letter in a graph of lineage.
type Letter struct {
	ID      string
	Parents []string // IDs of the letters that it came from; unknown ones are left out
	Label   string
	Sub     string
	Mark    Mark
	State   string // in words; "" for the mark's own
	Href    string
	Current bool // the letter that the page is about
}

// Lineage draws letters and their descendants as a Graph. Of letters with the same ID, the first has the children.
func Lineage(letters []Letter, opts GraphOptions) template.HTML {
	nodes, at := make([]Node, len(letters)), make(map[string]int, len(letters))
	for i, l := range letters {
		nodes[i] = Node{Label: l.Label, Sub: l.Sub, Mark: l.Mark, State: l.State, Href: l.Href, Current: l.Current}
		if _, ok := at[l.ID]; !ok {
			at[l.ID] = i
		}
	}
	var edges []Edge
	for i, l := range letters {
		for _, id := range l.Parents {
			if parent, ok := at[id]; ok {
				edges = append(edges, Edge{parent, i})
			}
		}
	}
	opts.ID = cmp.Or(opts.ID, "lineage")
	if opts.Noun.One == "" {
		opts.Noun = Noun{"letter", "letters"}
	}
	return Graph(nodes, edges, opts)
}
