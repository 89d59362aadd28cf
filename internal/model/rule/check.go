package rule

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

const (
	// maxNodes bounds the nodes of one expression.
	maxNodes = 100
	// MaxCost bounds the regular expressions of a rule; see Program.Cost.
	MaxCost = 1000
)

// checker refuses forbidden nodes and collects regular expressions.
type checker struct {
	source   file.Source
	patterns map[string]*regexp.Regexp // of extract, by their text
	cost     int
	fault    string // the first one
}

func (c *checker) check(node *ast.Node) string {
	ast.Walk(node, c)
	return c.fault
}

func (c *checker) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "$env" {
			c.refuse(n, "facts are named one by one")
		}
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode,
		*ast.ConstantNode, *ast.UnaryNode, *ast.ConditionalNode, *ast.ArrayNode, *ast.SliceNode, *ast.BuiltinNode:
	case *ast.BinaryNode:
		c.operator(n)
	case *ast.CallNode:
		c.call(n)
	case *ast.PredicateNode, *ast.PointerNode:
		c.refuse(n, "an expression has no loops over lists")
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		c.refuse(n, "an expression has no variables")
	default:
		c.refuse(n, "facts are plain values without members")
	}
}

func (c *checker) operator(n *ast.BinaryNode) {
	switch n.Operator {
	case "..":
		c.refuse(n, "an expression has no ranges of numbers")
	case "matches":
		c.pattern(n.Right)
	}
}

func (c *checker) call(n *ast.CallNode) {
	if f, ok := n.Callee.(*ast.IdentifierNode); ok && f.Value == "extract" && len(n.Arguments) == 2 {
		if text, re := c.pattern(n.Arguments[1]); re != nil {
			c.patterns[text] = re
		}
	}
}

// pattern accepts only a literal regular expression of bounded size.
func (c *checker) pattern(node ast.Node) (string, *regexp.Regexp) {
	text, ok := node.(*ast.StringNode)
	if !ok {
		c.refuse(node, "a regular expression is a text in quotes")
		return "", nil
	}
	parsed, err := syntax.Parse(text.Value, syntax.Perl)
	if err == nil {
		var prog *syntax.Prog
		if prog, err = syntax.Compile(parsed.Simplify()); err == nil {
			c.cost += len(prog.Inst)
		}
	}
	if err != nil {
		c.refuse(node, "the regular expression is not valid: "+err.Error())
		return "", nil
	}
	if c.cost > MaxCost { // before the language compiles it
		c.refuse(node, fmt.Sprintf("the regular expressions have the size %d; the limit is %d", c.cost, MaxCost))
		return "", nil
	}
	return text.Value, regexp.MustCompile(text.Value)
}

func (c *checker) refuse(n ast.Node, fault string) {
	if c.fault == "" {
		c.fault = faultOf((&file.Error{Location: n.Location(), Message: fault}).Bind(c.source))
	}
}
