package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

const (
	// MaxLength bounds the text of an expression, in bytes.
	MaxLength = 1 << 10
	// maxNodes bounds the operations of an expression.
	maxNodes = 200
)

// Names of an expression.
const (
	Context = "context" // the context of the task
	Parents = "parents" // the steps that the step depends on, each with state and result
)

// Error says why and where an expression is unusable. Line and column count from 1.
type Error struct {
	Line, Column int
	Message      string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("at %d:%d: %s", e.Line, e.Column, e.Message) }

// Program is a compiled expression. It is safe for concurrent use.
type Program struct {
	text  string
	code  *vm.Program
	steps []string
	names []string
	paths []string
	reads [][]string
	uses  []use
}

// Compile compiles an expression over context, parents and further names. The error is an *Error.
func Compile(text string, names ...string) (*Program, error) {
	if len(text) > MaxLength {
		return nil, &Error{1, 1, fmt.Sprintf("the expression has %d bytes; the limit is %d", len(text), MaxLength)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{1, 1, "the expression is empty"}
	}
	names = append([]string{Context, Parents}, names...)
	numbers, masked := literalsOf(text)
	tree, err := parser.ParseWithConfig(masked, parsing())
	if err != nil {
		return nil, errorOf(err)
	}
	ast.Walk(&tree.Node, numbers)
	c := checker{source: file.NewSource(text), numbers: numbers, names: names}
	ast.Walk(&tree.Node, &c)
	if c.fault == nil {
		c.wholly(tree.Node)
	}
	if c.fault != nil {
		return nil, c.fault
	}
	env := types.Map{}
	for _, name := range names {
		env[name] = types.Any
	}
	code, err := expr.Compile(masked, append(functions(), expr.Env(env), expr.MaxNodes(4*maxNodes),
		expr.DisableAllBuiltins(), expr.Optimize(false), expr.Patch(numbers), expr.Patch(safe{}))...)
	if err != nil {
		return nil, errorOf(err)
	}
	slices.Sort(c.steps)
	reads := c.reads()
	return &Program{text: text, code: code, steps: slices.Compact(c.steps), names: names, paths: longest(c.paths),
		reads: reads, uses: usesOf(&tree.Node)}, nil
}

// String returns the text of the expression.
func (p *Program) String() string { return p.text }

// Steps returns the names of the steps that the expression mentions, sorted.
func (p *Program) Steps() []string { return p.steps }

// Paths returns each path that the expression reads once, such as context.customer.tier. A path ends before a part
// that is only computed at run time.
func (p *Program) Paths() []string { return p.paths }

// Reads returns the paths below context whose values the expression reads, as member names and element indexes; the
// path of the whole context is empty. A path that only has() tests is not in it.
func (p *Program) Reads() [][]string { return p.reads }

func (c *checker) reads() [][]string {
	var out [][]string
	used := slices.Clone(c.paths)
	for range c.whole {
		used = append(used, Context)
	}
	for _, path := range longest(slices.Clone(used)) {
		of, is := c.segments[path]
		if path == Context {
			is = true
		}
		if is && c.asked[path] < count(used, path) {
			out = append(out, of)
		}
	}
	return out
}

func count(paths []string, path string) (n int) {
	for _, p := range paths {
		if p == path {
			n++
		}
	}
	return n
}

func longest(paths []string) []string {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(paths, func(q string) bool {
			return strings.HasPrefix(q, p+".") || strings.HasPrefix(q, p+"[")
		})
	})
}

// pathOf returns the text of a path, "" for other nodes.
func pathOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.ChainNode:
		return pathOf(n.Node)
	case *ast.MemberNode:
		of := pathOf(n.Node)
		if of == "" {
			return ""
		}
		switch p := n.Property.(type) {
		case *ast.StringNode:
			if plain.MatchString(p.Value) {
				return of + "." + p.Value
			}
			return of + "[" + strconv.Quote(p.Value) + "]"
		case *ast.IntegerNode:
			return of + "[" + strconv.Itoa(p.Value) + "]"
		}
	}
	return ""
}

var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parsing keeps the builtins, so that the checker can name a refused one.
func parsing() *conf.Config {
	c := conf.CreateNew()
	c.MaxNodes = maxNodes
	return c
}

func errorOf(err error) *Error {
	var at *file.Error
	if errors.As(err, &at) && at.Line > 0 {
		return &Error{at.Line, at.Column + 1, at.Message}
	}
	return &Error{1, 1, err.Error()}
}

type checker struct {
	paths []string
	// The segments of paths below context, the uses of has for each, and the uses of context as a whole.
	segments map[string][]string
	asked    map[string]int
	whole    int
	source   file.Source
	numbers  literals
	names    []string
	steps    []string
	fault    *Error // the first one
	// Names and functions seen; named and called count the proper uses among them.
	used, named   int
	funcs, called int
}

// Visit implements ast.Visitor.
func (c *checker) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.ConstantNode, *ast.BoolNode, *ast.StringNode, *ast.UnaryNode,
		*ast.ConditionalNode, *ast.ArrayNode, *ast.PairNode, *ast.ChainNode:
	case *ast.MapNode:
		c.object(n)
	case *ast.IdentifierNode:
		c.identifier(n)
	case *ast.MemberNode:
		c.member(n)
	case *ast.BinaryNode:
		if _, is := operands[n.Operator]; !is {
			c.refuse(n, "an expression has no operator "+n.Operator)
		} else if fault := operandFault(n); fault != "" {
			c.refuse(n, fault)
		}
	case *ast.BuiltinNode:
		c.function(n, n.Name, n.Arguments)
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); ok {
			c.called++
			c.function(n, f.Value, n.Arguments)
			return
		}
		c.refuse(n, "values have no functions")
	case *ast.PredicateNode, *ast.PointerNode:
		c.refuse(n, "an expression has no loops over lists; for_each.context is evaluated for each item")
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		c.refuse(n, "an expression has no variables")
	default:
		c.refuse(n, "an expression has literals, paths, operators, len and has only")
	}
}

func (c *checker) identifier(n *ast.IdentifierNode) {
	switch {
	case n.Value == Parents:
		c.used++
	case n.Value == fnHas || n.Value == fnLen:
		c.funcs++
	case n.Value == Context:
		c.whole++
	case n.Value == "null" || slices.Contains(c.names, n.Value):
	default:
		c.refuse(n, fmt.Sprintf("unknown name %q; an expression begins a path with %s", n.Value,
			strings.Join(c.names, ", ")))
	}
}

func (c *checker) member(n *ast.MemberNode) {
	if path := pathOf(n); path != "" {
		c.paths = append(c.paths, path)
		if of, known := placeOf(n); known && of[0] == Context {
			if c.segments == nil {
				c.segments = map[string][]string{}
			}
			c.segments[path] = of[1:]
		}
	}
	if pathOf(n.Node) == Context {
		c.whole--
	}
	if of, ok := n.Node.(*ast.IdentifierNode); ok && of.Value == Parents {
		name, ok := n.Property.(*ast.StringNode)
		if !ok {
			c.refuse(n, `name the step: parents.charge, or parents["charge"]`)
			return
		}
		c.named++
		c.steps = append(c.steps, name.Value)
	}
}

// wholly refuses a use of parents that names no step, and a function that is not called.
func (c *checker) wholly(root ast.Node) {
	if c.used > c.named {
		c.refuse(root, `name a step of parents: parents.charge, or parents["charge"]`)
	}
	if c.funcs > c.called {
		c.refuse(root, "len and has are functions: has(context.a)")
	}
}

// object refuses an object with a duplicate member or a computed member name.
func (c *checker) object(n *ast.MapNode) {
	names := map[string]bool{}
	for _, p := range n.Pairs {
		pair, _ := p.(*ast.PairNode)
		name, is := pair.Key.(*ast.StringNode)
		if _, number := c.numbers[pair.Key.Location().From]; !is || number {
			c.refuse(pair.Key, `the name of a member is a text: {"a": 1}`)
			return
		}
		if names[name.Value] {
			c.refuse(pair.Key, "the object has two members with the name "+strconv.Quote(name.Value))
		}
		names[name.Value] = true
	}
}

func (c *checker) function(n ast.Node, name string, args []ast.Node) {
	if name != fnLen && name != fnHas {
		c.refuse(n, "unknown function "+name+"; an expression has len and has")
		return
	}
	if len(args) != 1 {
		c.refuse(n, name+" takes one value")
		return
	}
	if path := pathOf(args[0]); name == fnHas && path != "" {
		if c.asked == nil {
			c.asked = map[string]int{}
		}
		c.asked[path]++
	}
}

func (c *checker) refuse(n ast.Node, fault string) {
	if c.fault == nil {
		c.fault = errorOf((&file.Error{Location: n.Location(), Message: fault}).Bind(c.source))
	}
}
