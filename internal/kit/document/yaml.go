package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/taskerhq/tasker/internal/kit/wording"
)

// yamlTree returns nil without a value, or after it has reported why there is no tree. Aliases share nodes, so Parse
// checks the size before any walk.
func (r *reader) yamlTree(src string) *Node {
	body := r.yamlBody(src)
	if body == nil {
		return nil
	}
	c := converter{reader: r, anchors: map[string]*Node{}}
	return c.convert(body)
}

func (r *reader) yamlBody(src string) (body ast.Node) {
	// The parser meets hostile input here. A panic of it must not take down the server, so it becomes a syntax error.
	defer func() {
		if recover() != nil {
			r.report(Position{1, 1}, "the document cannot be parsed as YAML")
			body = nil
		}
	}()
	tokens := lexer.Tokenize(src)
	if bad := tokens.InvalidToken(); bad != nil {
		r.report(tokenAt(bad), "%s", bad.Error)
		return nil
	}
	if !r.harmless(tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var syntax interface {
			GetToken() *token.Token
			GetMessage() string
		}
		if !errors.As(err, &syntax) {
			r.report(Position{1, 1}, "the document cannot be parsed as YAML")
			return nil
		}
		r.report(tokenAt(syntax.GetToken()), "%s", syntax.GetMessage())
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			r.report(tokenAt(doc.Start), "%s is one document; a second one begins here", r.What)
			return nil
		default:
			body = doc.Body
		}
	}
	return body
}

// tokenAt falls back to the start of the document.
func tokenAt(tk *token.Token) Position {
	if tk == nil || tk.Position == nil {
		return Position{1, 1}
	}
	return Position{max(tk.Position.Line, 1), max(tk.Position.Column, 1)}
}

// harmless checks the tokens before they are parsed: the parser recurses with each level of nesting and each key of a
// mapping without limits, so a small hostile document could exhaust the stack. It is too strict for odd layouts, never
// too loose.
func (r *reader) harmless(tokens token.Tokens) bool {
	type level struct{ column, keys int }
	var (
		before = r.reported
		blocks []level
		flow   int
	)
	enter := func(at Position, column int) {
		for len(blocks) > 0 && blocks[len(blocks)-1].column > column {
			blocks = blocks[:len(blocks)-1]
		}
		if len(blocks) == 0 || blocks[len(blocks)-1].column < column {
			blocks = append(blocks, level{column: column})
		}
		top := &blocks[len(blocks)-1]
		if top.keys++; top.keys == r.Limits.Entries+1 {
			r.report(at, "one list or mapping has more than %d entries", r.Limits.Entries)
		}
	}
	for i, tk := range tokens {
		at := tokenAt(tk)
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType:
			enter(at, at.Column)
		case token.MappingValueType:
			if flow == 0 && i > 0 {
				enter(at, tokenAt(tokens[i-1]).Column)
			}
		case token.MappingKeyType:
			r.report(at, `keys written with "? " are not supported`)
		case token.TagType:
			r.report(at, "tags such as %s are not supported; quote a value to make it a string", wording.Quoted(tk.Value))
		case token.DirectiveType:
			r.report(at, "directives (%%) are not supported")
		}
		if flow+len(blocks) > r.Limits.Depth {
			r.report(at, "lists and mappings nest deeper than %d levels", r.Limits.Depth)
			return false
		}
	}
	return r.reported == before
}

type converter struct {
	*reader
	anchors map[string]*Node
	merged  int // entries copied by merge keys
}

// convert reports a value that it cannot convert and returns a null, never nil, so that the rest is read.
func (c *converter) convert(n ast.Node) *Node {
	at := tokenAt(n.GetToken())
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n)
	case *ast.MappingValueNode:
		return c.mapping(&ast.MappingNode{Start: n.Start, Values: []*ast.MappingValueNode{n}})
	case *ast.SequenceNode:
		items := make([]*Node, 0, len(n.Values))
		for _, v := range n.Values {
			items = append(items, c.convert(v))
		}
		return newList(at, items)
	case *ast.LiteralNode:
		return newText(at, n.Value.Value)
	case *ast.StringNode:
		if t := n.Token.Type; t == token.SingleQuoteType || t == token.DoubleQuoteType {
			return newText(at, n.Value)
		}
		return c.resolve(n.Value, at)
	case *ast.NullNode:
		return newScalar(Null, at, "null", "")
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return c.resolve(n.GetToken().Value, at)
	case *ast.AnchorNode:
		value := c.convert(n.Value)
		// Named after its value is read, so that an anchor cannot contain itself.
		c.anchors[n.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if value, known := c.anchors[name]; known {
			return value
		}
		c.report(at, "the alias *%s has no anchor before it", strings.Trim(wording.Quoted(name), `"`))
		return newBroken(at)
	default:
		c.report(at, "this form of YAML (%s) is not supported", strings.ToLower(fmt.Sprint(n.Type())))
		return newBroken(at)
	}
}

// mapping reports keys that are not strings or are repeated, and resolves merge keys. A repeated key keeps its first
// value.
func (c *converter) mapping(n *ast.MappingNode) *Node {
	var (
		pairs   []Pair
		first   = map[string]Position{}
		sources []*Node
		start   = tokenAt(n.Start)
	)
	for i, v := range n.Values {
		at := tokenAt(v.Key.GetToken())
		if i == 0 && !n.IsFlowStyle {
			start = at // the parser's own start is the first colon
		}
		value := c.convert(v.Value)
		if v.Key.IsMergeKey() {
			sources = append(sources, c.mergeSources(value)...)
			continue
		}
		key, ok := c.key(v.Key, at)
		if !ok {
			continue
		}
		if was, dup := first[key]; dup {
			c.report(at, "the key %s is used twice; first on line %d", wording.Quoted(key), was.Line)
			continue
		}
		first[key] = at
		pairs = append(pairs, Pair{key, at, value})
	}
	return newMapping(start, c.merge(pairs, first, sources))
}

// merge adds the missing entries of merge keys; of several sources the first wins. Merging copies, unlike an alias, so
// it counts the copies. It changes has. Entries beyond the bound are omitted, and the document is refused.
func (c *converter) merge(own []Pair, has map[string]Position, sources []*Node) []Pair {
	for _, source := range sources {
		if c.merged += len(source.Pairs); c.merged > c.Limits.Merged {
			c.report(source.At, "merge keys (<<) copy more than %d entries", c.Limits.Merged)
			return own
		}
		for _, p := range source.Pairs {
			if _, known := has[p.Key]; !known {
				has[p.Key] = p.At
				own = append(own, p)
			}
		}
	}
	return own
}

// key refuses a key such as 1 or true: JSON has no such keys, and the author may not intend text.
func (c *converter) key(k ast.MapKeyNode, at Position) (string, bool) {
	name := c.convert(k)
	if name.Kind != Text {
		c.report(at, "a key must be a string; quote it: %q", k.GetToken().Value)
		return "", false
	}
	return name.Text, true
}

// mergeSources returns the one mapping of a merge key, or several.
func (c *converter) mergeSources(value *Node) []*Node {
	sources := []*Node{value}
	if value.Kind == List {
		sources = value.Items
	}
	for _, s := range sources {
		if s.Kind != Mapping {
			c.report(s.At, "<< takes a mapping or a list of mappings, not %s", s.Kind)
			return nil
		}
	}
	return sources
}
