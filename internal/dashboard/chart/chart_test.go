package chart

import (
	"encoding/xml"
	"flag"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var failures = Noun{"failure", "failures"}

// drawings are one of each kind, with a text in every place.
func drawings(text string) map[string]template.HTML {
	nodes := []Node{
		{Label: text, Sub: text, Mark: MarkComplete, State: text, Href: "/steps/1"},
		{Label: text, Mark: Mark(text), Href: text, Critical: true},
		{Label: text, Mark: MarkError, Current: true},
	}
	rows := []Row{{Label: text, Sub: text, Mark: Mark(text), Href: text, Segments: []Segment{
		{Kind: Waiting, From: noon, To: noon.Add(2 * time.Second)},
		{Kind: Running, From: noon.Add(2 * time.Second), To: noon.Add(9 * time.Second), Mark: MarkError, Title: text},
		{Kind: BackOff, From: noon.Add(9 * time.Second), To: noon.Add(30 * time.Second)},
		{Kind: SegmentKind(text), From: noon.Add(30 * time.Second), Mark: Mark(text)},
	}}}
	hourly := Buckets{noon, time.Hour}
	return map[string]template.HTML{
		"spark": Sparkline([]int64{0, 3, 0, 12, -1, 1}, hourly, Noun{text, text}),
		"series": Series([]Line{{text, []float64{1, 5, math.NaN(), 2}}, {text, []float64{3, 3, 3}}},
			SeriesOptions{Name: text, Times: hourly}),
		"shares":   Shares([]Share{{Label: text, Count: 998}, {Label: "b", Count: 1, Class: text}}, failures),
		"waves":    Waves([]Wave{{Size: 9, Sent: 9, Completed: 4, Returned: 3, Failed: 2}, {Size: 40, Note: text}}, text),
		"timeline": Timeline(rows, TimelineOptions{ID: text, Name: text, Now: noon.Add(time.Minute)}),
		"graph":    Graph(nodes, []Edge{{0, 1}, {1, 2}, {0, 2}}, GraphOptions{ID: text, Name: text}),
		"lineage":  Lineage([]Letter{{ID: "a", Label: text}, {ID: "b", Parents: []string{"a", "gone"}}}, GraphOptions{}),
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, got := range drawings("charge") {
		file := filepath.Join("testdata", name+".svg")
		lines := strings.ReplaceAll(string(got), "><", ">\n<") + "\n"
		if *update {
			if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if lines != string(want) {
			t.Errorf("%s has changed; see the difference with -update\n%s", file, lines)
		}
	}
}

var elements = map[string]bool{"svg": true, "g": true, "a": true, "path": true, "rect": true, "text": true,
	"title": true, "defs": true, "clipPath": true, "pattern": true}

// harmless checks that a drawing is complete, and has only geometry, text and links on this server.
func harmless(t *testing.T, name string, drawing template.HTML) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(drawing)))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s is broken: %v\n%s", name, err, drawing)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !elements[token.Name.Local] {
				t.Fatalf("%s has an element %s", name, token.Name.Local)
			}
			for _, a := range token.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") ||
					a.Name.Local == "href" && a.Value != local(a.Value) {
					t.Fatalf("%s has an attribute %s=%q", name, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if n := len([]rune(string(token))); n > (maxTitle+2)*(1+maxMarks) {
				t.Fatalf("%s has a text of %d characters", name, n)
			}
			if strings.ContainsAny(string(token), "\u202e\u2066\x00\x1b") {
				t.Fatalf("%s has characters that control the text: %q", name, string(token))
			}
		}
	}
}

var hostile = []string{"#\xee", "/\uffff",
	"", `"><script>alert(1)</script>`, `' onload='x`, "</title></svg>", "\u202eabc\u2066",
	"\x00\x1b[2J",
	strings.Repeat("W", 10_000), strings.Repeat("a\u0301\u0301\u0301\u0301", 500), "\xff\xfe", "javascript:alert(1)",
	"//elsewhere.example", "/\\elsewhere.example", "مرحبا", "a\n\tb", "&amp;", "url(#x)"}

func TestHostileText(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		for name, drawing := range drawings(text) {
			harmless(t, name, drawing)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, drawing := range drawings(text) {
			harmless(t, name, drawing)
		}
	})
}

// randomGraph has edges of every kind, including invalid ones.
func randomGraph(t *rapid.T) ([]Node, []Edge) {
	n := rapid.IntRange(0, 60).Draw(t, "nodes")
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{Label: fmt.Sprint("step ", i), Mark: rapid.SampledFrom(Marks).Draw(t, "mark")}
	}
	end := rapid.IntRange(-1, n)
	return nodes, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
		return Edge{end.Draw(t, "from"), end.Draw(t, "to")}
	}), 0, 150).Draw(t, "edges")
}

func TestLayout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes, edges := randomGraph(t)
		sound(t, nodes, edges)
		if a, b := Graph(nodes, edges, GraphOptions{}), Graph(nodes, edges, GraphOptions{}); a != b {
			t.Fatal("the same graph is drawn in two ways")
		}
	})
}

func sound(t interface{ Fatalf(string, ...any) }, nodes []Node, edges []Edge) {
	p := newPlan(nodes, edges, GraphOptions{})
	for from, targets := range p.g.outs {
		for _, to := range targets {
			if p.x[p.layer[from]]+p.widths[p.layer[from]] >= p.x[p.layer[to]] {
				t.Fatalf("the edge from %d to %d does not lead to the right", from, to)
			}
		}
	}
	placed := 0
	for layer, row := range p.rows {
		for i, item := range row {
			half := p.size(item, p.nodeHeight) / 2
			if p.y[item] < half || p.y[item]+half > p.height || p.x[layer]+p.widths[layer] > p.width {
				t.Fatalf("item %d is outside of the drawing", item)
			}
			if i > 0 && p.y[row[i-1]]+p.size(row[i-1], p.nodeHeight)/2 > p.y[item]-half {
				t.Fatalf("items %d and %d overlap", row[i-1], item)
			}
			if item < len(nodes) {
				placed++
			}
		}
	}
	if placed != len(nodes) {
		t.Fatalf("%d of %d nodes are drawn", placed, len(nodes))
	}
}

// shapes are graphs of 1,000 nodes that are difficult to lay out.
func shapes() map[string][]Edge {
	out := map[string][]Edge{}
	for i := range 999 {
		out["chain"] = append(out["chain"], Edge{i, i + 1})
		out["fan"] = append(out["fan"], Edge{0, i + 1})
		if i > 0 && i < 998 {
			out["diamond"] = append(out["diamond"], Edge{0, i}, Edge{i, 999})
		}
		for k := 1; k <= 10; k++ {
			out["dense"] = append(out["dense"], Edge{i, (i*k*7 + 13*k) % 1000})
		}
		out["tree"] = append(out["tree"], Edge{i / 2, i + 1})
		out["steps"] = append(out["steps"], Edge{max(0, i-9+i*7%9), i + 1}, Edge{max(0, i-40+i*31%40), i + 1})
	}
	return out
}

func manyNodes(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{Label: fmt.Sprint("charge customer ", i), Sub: "2 of 3", Mark: Marks[i%len(Marks)],
			Href: fmt.Sprint("/tasks/1/steps/", i)}
	}
	return nodes
}

func TestLargeGraphs(t *testing.T) {
	t.Parallel()
	for name, edges := range shapes() {
		sound(t, manyNodes(1000), edges)
		if size := len(Graph(manyNodes(1000), edges, GraphOptions{})); size > 3<<20 {
			t.Errorf("the graph %s is drawn in %d bytes", name, size)
		}
	}
}

func TestMarkCritical(t *testing.T) {
	t.Parallel()
	nodes := make([]Node, 4)
	edges := []Edge{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {0, 3}, {3, 0}}
	got := MarkCritical(nodes, edges, []time.Duration{time.Second, 5 * time.Second, 2 * time.Second, time.Second})
	if got != 7*time.Second {
		t.Errorf("the longest path takes %v", got)
	}
	for i, want := range []bool{true, true, false, true} {
		if nodes[i].Critical != want {
			t.Errorf("node %d: critical is %v", i, nodes[i].Critical)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	counts := make([]int64, 24)
	counts[2], counts[5] = 200, 12
	for want, got := range map[string]string{
		"212 failures in 24 h, most at 14:00": sparkText(counts, Buckets{noon, time.Hour}, failures),
		"no failures in 24 h":                 sparkText(make([]int64, 24), Buckets{noon, time.Hour}, failures),
		"4 m 10 s":                            span(250 * time.Second),
		"1.2k":                                compact(1234),
		"1,234,567":                           group(1234567),
		"15s":                                 tickStep(100*time.Second, 7).String(),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func BenchmarkGraph(b *testing.B) {
	for _, n := range []int{200, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			nodes, edges := manyNodes(n), shapes()["steps"][:2*(n-1)]
			for b.Loop() {
				Graph(nodes, edges, GraphOptions{})
			}
		})
	}
	for name, edges := range shapes() {
		b.Run(name, func(b *testing.B) {
			nodes := manyNodes(1000)
			for b.Loop() {
				Graph(nodes, edges, GraphOptions{})
			}
		})
	}
}
