package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

// Node is a node of a graph.
type Node struct {
	Label string // cut to the room; "" is written as unnamed
	Sub   string // a second, smaller line
	Mark  Mark
	State string // "" for the mark's own
	Href  string // on this server; "" for a node without a link
	// Current marks the node of the page.
	Critical, Current bool
}

// GraphOptions configure a graph.
type GraphOptions struct {
	// ID is the prefix of the ids in the drawing, unique on the page. Defaults to graph.
	ID string
	// Name is for screen readers: "Steps of the task".
	Name string
	// Noun defaults to step.
	Noun Noun
}

// Distances in pixels.
const (
	margin       = 12
	plainHeight  = 30
	doubleHeight = 42
	textLeft     = 29
	nameSize     = 12
	subSize      = 11
)

// maxEdges keeps a graph of many edges from becoming many megabytes.
const maxEdges = 10_000

// Graph draws nodes in layers from left to right: every edge leads to the right. It leaves out edges that repeat
// others, close a cycle, lead nowhere or are past the first 10,000; the description counts them. The links of the nodes
// are in topological order.
func Graph(nodes []Node, edges []Edge, opts GraphOptions) template.HTML {
	p := newPlan(nodes, edges, opts)
	d := &drawing{}
	d.begin("graph", "group", p.describe(len(edges)), p.width, p.height, "id", p.id, "data-zoom", "1",
		"data-width", p.width, "data-height", p.height)
	p.clips(d)
	p.lines(d)
	d.open("g", "class", "nodes")
	for _, row := range p.rows {
		for _, item := range row {
			if item < len(nodes) {
				p.node(d, item)
			}
		}
	}
	d.close("g")
	return d.end()
}

// plan is a layout with sizes.
type plan struct {
	*layout
	list          []Node
	id            string
	noun          Noun
	name          string
	g             *digraph
	nodeHeight    int
	x, widths     []int // of layers
	width, height int
}

func newPlan(nodes []Node, edges []Edge, opts GraphOptions) *plan {
	p := &plan{list: nodes, id: identifier(opts.ID, "graph"), name: opts.Name, noun: opts.Noun, nodeHeight: plainHeight}
	if p.noun.One == "" {
		p.noun = Noun{"step", "steps"}
	}
	if slices.ContainsFunc(nodes, func(n Node) bool { return n.Sub != "" }) {
		p.nodeHeight = doubleHeight
	}
	p.g = acyclic(len(nodes), edges[:min(len(edges), maxEdges)])
	p.layout = arrange(p.g, p.nodeHeight)
	p.columns()
	return p
}

// columns gives each layer the width of its longest text, in steps of 20 pixels, and the gaps more room for more lines.
func (p *plan) columns() {
	p.widths, p.x = make([]int, len(p.rows)), make([]int, len(p.rows))
	at := margin
	for i, row := range p.rows {
		width, links := 100, 0
		for _, item := range row {
			links += len(p.outs[item])
			if item >= p.nodes {
				continue
			}
			n := p.list[item]
			text := max(measure(clean(orUnnamed(n.Label), 60), nameSize), measure(clean(n.Sub, 60), subSize))
			width = max(width, text+textLeft+10)
		}
		p.widths[i] = min((width+19)/20*20, 220)
		p.x[i] = at
		at += p.widths[i] + min(44+links, 96)
	}
	p.width, p.height = 2*margin, 2*margin+p.nodeHeight
	if last := len(p.rows) - 1; last >= 0 {
		p.width = p.x[last] + p.widths[last] + margin
	}
	for i := range p.y {
		p.y[i] += margin
		p.height = max(p.height, p.y[i]+p.size(i, p.nodeHeight)/2+margin)
	}
}

func (p *plan) describe(edges int) string {
	s := p.noun.of(int64(len(p.list)))
	if p.name != "" {
		s = clean(p.name, 100) + ": " + s
	}
	counts := map[Mark]int{}
	for _, n := range p.list {
		counts[n.Mark.known()]++
	}
	for _, m := range Marks {
		if counts[m] > 0 {
			s += fmt.Sprintf(", %d %s", counts[m], m)
		}
	}
	if edges > p.g.edges {
		s += fmt.Sprintf("; %d edges not drawn", edges-p.g.edges)
	}
	return s
}

// clips writes a clip path for each width of a node, for fonts that are wider than expected.
func (p *plan) clips(d *drawing) {
	widths := slices.Clone(p.widths)
	slices.Sort(widths)
	d.open("defs")
	for _, width := range slices.Compact(widths) {
		d.open("clipPath", "id", fmt.Sprintf("%s-clip-%d", p.id, width))
		d.tag("rect", "width", width-4, "height", p.nodeHeight)
		d.close("clipPath")
	}
	d.close("defs")
}

func (p *plan) node(d *drawing, i int) {
	n := p.list[i]
	layer := p.layer[i]
	class := []string{"node", string(n.Mark.known())}
	if n.Critical {
		class = append(class, "critical")
	}
	if n.Current {
		class = append(class, "current")
	}
	element, href := "a", local(n.Href)
	attrs := []any{"class", words(class...), "id", p.id + "-" + strconv.Itoa(i), "data-node", i,
		"transform", fmt.Sprintf("translate(%d %d)", p.x[layer], p.y[i]-p.nodeHeight/2)}
	if href == "" {
		element = "g"
		attrs = append(attrs, "tabindex", 0)
	} else {
		attrs = append(attrs, "href", href)
	}
	if n.Current {
		attrs = append(attrs, "aria-current", "true")
	}
	d.open(element, attrs...)
	d.title(n.title())
	d.tag("rect", "class", "box", "width", p.widths[layer], "height", p.nodeHeight, "rx", 5)
	d.shape(n.Mark, fmt.Sprintf("translate(8 %d)", p.nodeHeight/2-8))
	room := p.widths[layer] - textLeft - 8
	d.open("g", "clip-path", fmt.Sprintf("url(#%s-clip-%d)", p.id, p.widths[layer]))
	if n.Sub == "" {
		d.text("name", textLeft, p.nodeHeight/2+4, "start", orUnnamed(n.Label), room, nameSize)
	} else {
		d.text("name", textLeft, p.nodeHeight/2-4, "start", orUnnamed(n.Label), room, nameSize)
		d.text("sub", textLeft, p.nodeHeight/2+12, "start", n.Sub, room, subSize)
	}
	d.close("g")
	d.close(element)
}

func (n Node) title() string {
	state := n.State
	if state == "" {
		state = string(n.Mark.known())
	}
	s := clean(orUnnamed(n.Label), 160) + ", " + state
	if n.Sub != "" {
		s += ", " + clean(n.Sub, 80)
	}
	if n.Critical {
		s += ", on the critical path"
	}
	return s
}

type line struct {
	from, to      int
	node          int
	reach         bool
	met, critical bool
}

// lines draws the edges below the nodes, in one path per bundle.
func (p *plan) lines(d *drawing) {
	d.open("g", "class", "edges")
	for _, e := range p.far {
		d.tag("path", "class", "edge far", "fill", "none", "data-from", e.From, "d", p.curve(e.From, e.To, true))
	}
	all := p.parts()
	for start := 0; start < len(all); {
		first, end := all[start], start
		var path strings.Builder
		for ; end < len(all) && sameLook(all[end], first); end++ {
			path.WriteString(p.curve(all[end].from, all[end].to, false))
		}
		class, owner := []string{"edge"}, "data-from"
		if first.met {
			class = append(class, "met")
		}
		if first.critical {
			class = append(class, "critical")
		}
		if first.reach {
			owner = "data-to"
		}
		d.tag("path", "class", words(class...), "fill", "none", owner, first.node, "d", path.String())
		start = end
	}
	p.tips(d)
	d.close("g")
}

func sameLook(a, b line) bool {
	return a.node == b.node && a.reach == b.reach && a.met == b.met && a.critical == b.critical
}

// parts collects the parts of all edges, each once, critical ones last to be on top. A shared part is met when all its
// edges are, and critical when one is.
func (p *plan) parts() []line {
	critical := p.criticalEdges()
	at := map[[2]int]int{}
	var all []line
	for from, targets := range p.g.outs {
		for _, to := range targets {
			route, met := p.routes[Edge{from, to}], p.list[from].Mark.met()
			for i := 0; i+1 < len(route); i++ {
				key := [2]int{route[i], route[i+1]}
				k, ok := at[key]
				if !ok {
					k = len(all)
					at[key] = k
					all = append(all, line{from: key[0], to: key[1], node: from, met: true})
					if p.gathers(from, route) {
						all[k].node, all[k].reach = to, true
					}
				}
				all[k].met = all[k].met && met
				all[k].critical = all[k].critical || critical[Edge{from, to}]
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int {
		return cmp.Or(compareBool(a.critical, b.critical), cmp.Compare(a.node, b.node), compareBool(a.reach, b.reach),
			compareBool(a.met, b.met))
	})
	return all
}

// gathers reports whether the bends of a route belong to the node that it reaches.
func (p *plan) gathers(from int, route []int) bool {
	return len(route) > 2 && p.bends[bend{node: from, layer: p.layer[route[1]]}] != route[1]
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (p *plan) criticalEdges() map[Edge]bool {
	var path []int
	for i, n := range p.list {
		if n.Critical {
			path = append(path, i)
		}
	}
	slices.SortStableFunc(path, func(a, b int) int { return cmp.Compare(p.layer[a], p.layer[b]) })
	edges := map[Edge]bool{}
	for i := 0; i+1 < len(path); i++ {
		edges[Edge{path[i], path[i+1]}] = true
	}
	return edges
}

// curve is the path from an item to one at its right. It passes the layer of a bend in a straight line.
func (p *plan) curve(from, to int, long bool) string {
	x1, y1 := p.x[p.layer[from]], p.y[from]
	x2, y2 := p.x[p.layer[to]], p.y[to]
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", x1+p.widths[p.layer[from]], y1)
	x1 += p.widths[p.layer[from]]
	if to < p.nodes {
		x2 -= 5 // the arrowhead
	}
	switch reach := (x2 - x1) / 2; {
	case y1 == y2 && !long:
		fmt.Fprintf(&b, "H%d", x2)
	case long:
		reach = min(reach, 120)
		fallthrough
	default:
		fmt.Fprintf(&b, "C%d %d %d %d %d %d", x1+reach, y1, x2-reach, y2, x2, y2)
	}
	if to >= p.nodes {
		fmt.Fprintf(&b, "H%d", p.x[p.layer[to]]+p.widths[p.layer[to]])
	}
	return b.String()
}

func (p *plan) tips(d *drawing) {
	var path strings.Builder
	for i, ins := range p.g.ins {
		if len(ins) > 0 {
			fmt.Fprintf(&path, "M%d %dl-6 -3.5v7z", p.x[p.layer[i]]-1, p.y[i])
		}
	}
	if path.Len() > 0 {
		d.tag("path", "class", "tip", "d", path.String())
	}
}
