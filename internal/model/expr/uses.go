package expr

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// use is a place that an expression reads, as far as it is known statically: a name with members and indexes.
type use struct {
	place []string
	times int // as a whole
	ins   int // by an in that looks into it
}

func (u use) of(place ...string) bool {
	if len(u.place) < len(place) {
		return false
	}
	for i, name := range place {
		if u.place[i] != name {
			return false
		}
	}
	return true
}

// stateOf is the member of a step with its state; see Step.
const stateOf = "state"

// ReadsContext reports whether the expression reads the context of the task or a part of it.
func (p *Program) ReadsContext() bool {
	for _, u := range p.uses {
		if u.of(Context) {
			return true
		}
	}
	return false
}

// ReadsResult reports whether the expression reads the result of a step, not only its state.
func (p *Program) ReadsResult(step string) bool {
	for _, u := range p.uses {
		if u.of(Parents, step) && !u.of(Parents, step, stateOf) {
			return true
		}
	}
	return false
}

// Work bounds the elements, members and short pieces of text that evaluation over values looks at: its cost beyond
// a small constant.
func (p *Program) Work(values Values) int {
	work := 0
	for _, u := range p.uses {
		v := values[u.place[0]]
		for _, name := range u.place[1:] {
			v = Member(v, name)
		}
		if u.times > 0 {
			work += u.times * sizeOf(v)
		}
		for range u.ins {
			work += lookedAt(v)
		}
	}
	return work
}

// piece is the length of text that is as much work as one element.
const piece = 64

func sizeOf(v any) int {
	size := 1
	if n, is := v.(json.Number); is {
		size += len(n) / piece
	}
	if s, is := stringOf(v); is {
		size += len(s) / piece
	}
	if l, is := v.(list); is && l.index != nil {
		l.index.of(l.elements)
		return l.index.size
	}
	if list, is := elementsOf(v); is {
		size += sizeOfEach(list)
	}
	if members, is := membersOf(v); is {
		for _, e := range members {
			size += sizeOf(e)
		}
	}
	return size
}

func sizeOfEach(elements []any) (size int) {
	for _, e := range elements {
		size += sizeOf(e)
	}
	return size
}

func usesOf(root *ast.Node) []use {
	c := useCounter{}
	ast.Walk(root, c)
	var uses []use
	for _, u := range c {
		if u.times > 0 || u.ins > 0 {
			uses = append(uses, *u)
		}
	}
	return uses
}

type useCounter map[string]*use

func (c useCounter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		c.add(n, 1)
	case *ast.MemberNode:
		if c.add(n, 1) {
			c.add(n.Node, -1) // it only leads there
		}
	case *ast.BinaryNode:
		if n.Operator != "in" && n.Operator != "not in" {
			return
		}
		if c.add(n.Right, -1) {
			place, _ := placeOf(n.Right)
			c[strings.Join(place, "\x00")].ins++
		}
	}
}

func (c useCounter) add(n ast.Node, times int) (known bool) {
	place, known := placeOf(n)
	if !known {
		return false
	}
	key := strings.Join(place, "\x00")
	if c[key] == nil {
		c[key] = &use{place: place}
	}
	c[key].times += times
	return true
}

func placeOf(n ast.Node) (place []string, known bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}, true
	case *ast.ChainNode:
		return placeOf(n.Node)
	case *ast.MemberNode:
		if place, known = placeOf(n.Node); !known {
			return nil, false
		}
		switch p := n.Property.(type) {
		case *ast.StringNode:
			return append(place, p.Value), true
		case *ast.IntegerNode:
			return append(place, strconv.Itoa(p.Value)), true
		}
	}
	return nil, false
}
