package expr

import (
	"fmt"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// Names of functions that replace parts of an expression. The checker refuses them in source text.
const (
	fnMember = "__member"
	fnIn     = "__in"
	fnEqual  = "__equal"
	fnMinus  = "__minus"
	fnPlus   = "__plus"
	fnBool   = "__bool"
	fnLen    = "len"
	fnHas    = "has"
)

// safe replaces operations on values of unknown kinds by functions with the rules of this package.
type safe struct{}

func (safe) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "null" {
			ast.Patch(node, &ast.NilNode{})
		}
	case *ast.ChainNode:
		ast.Patch(node, n.Node)
	case *ast.MemberNode:
		replace(node, fnMember, n.Node, n.Property)
	case *ast.BuiltinNode:
		replace(node, n.Name, n.Arguments...)
	case *ast.UnaryNode:
		switch n.Operator {
		case "!", "not":
			toBool(&n.Node)
		case "-":
			replace(node, fnMinus, n.Node)
		case "+":
			replace(node, fnPlus, n.Node)
		}
	case *ast.ConditionalNode:
		toBool(&n.Cond)
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "||", "and", "or":
			toBool(&n.Left)
			toBool(&n.Right)
		case "in":
			replace(node, fnIn, n.Left, n.Right)
		case "==":
			replace(node, fnEqual, n.Left, n.Right)
		case "!=":
			replace(node, fnEqual, n.Left, n.Right)
			ast.Patch(node, &ast.UnaryNode{Operator: "!", Node: *node})
		case "??":
		default:
			replace(node, fnOperator+n.Operator, n.Left, n.Right)
		}
	}
}

func toBool(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BoolNode:
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); !ok || f.Value != fnBool {
			replace(node, fnBool, n)
		}
	default:
		replace(node, fnBool, n)
	}
}

func replace(node *ast.Node, name string, args ...ast.Node) {
	callee := &ast.IdentifierNode{Value: name}
	callee.SetLocation((*node).Location())
	ast.Patch(node, &ast.CallNode{Callee: callee, Arguments: args})
}

func functions() []expr.Option {
	list := []expr.Option{
		expr.Function(fnMember, member, new(func(any, any) any)),
		expr.Function(fnIn, in, new(func(any, any) bool)),
		expr.Function(fnEqual, func(args ...any) (any, error) { return same(args[0], args[1]) },
			new(func(any, any) bool)),
		expr.Function(fnBool, toBoolean, new(func(any) bool)),
		expr.Function(fnLen, length, new(func(any) int)),
		expr.Function(fnHas, has, new(func(any) bool)),
		expr.Function(fnMinus, func(args ...any) (any, error) { return signed("-", args[0]) }, new(func(any) any)),
		expr.Function(fnPlus, func(args ...any) (any, error) { return signed("+", args[0]) }, new(func(any) any)),
	}
	for operator, kinds := range operands {
		if kinds != nil {
			list = append(list, expr.Function(fnOperator+operator, func(args ...any) (any, error) {
				return operate(operator, args[0], args[1])
			}, new(func(any, any) any)))
		}
	}
	return list
}

// member returns a member of an object or an element of a list; null where there is none.
func member(args ...any) (any, error) {
	if of, is := membersOf(args[0]); is {
		if name, is := stringOf(args[1]); is {
			return of[name], nil
		}
	} else if of, is := elementsOf(args[0]); is {
		if i, is := whole(args[1]); is && i >= 0 && i < len(of) {
			return of[i], nil
		}
	} else if of, is := args[0].(Encoded); is {
		return nil, unreadable(of)
	}
	return nil, nil
}

func toBoolean(args ...any) (any, error) {
	if b, ok := args[0].(bool); ok {
		return b, nil
	}
	return nil, fmt.Errorf("true or false is needed here, and this is %s", kindOf(args[0]))
}

func has(args ...any) (any, error) { return args[0] != nil, nil }

func length(args ...any) (any, error) {
	if args[0] == nil {
		return 0, nil
	}
	if s, is := stringOf(args[0]); is {
		return utf8.RuneCountInString(s), nil
	}
	if of, is := elementsOf(args[0]); is {
		return len(of), nil
	}
	if of, is := membersOf(args[0]); is {
		return len(of), nil
	}
	return nil, fmt.Errorf("len takes a list, an object or a string, and this is %s", kindOf(args[0]))
}

func in(args ...any) (any, error) {
	if args[1] == nil {
		return false, nil
	}
	if of, is := membersOf(args[1]); is {
		name, is := stringOf(args[0])
		if !is {
			return nil, fmt.Errorf("the members of an object have strings for names, and this is %s", kindOf(args[0]))
		}
		_, found := of[name]
		return found, nil
	}
	of, is := elementsOf(args[1])
	if !is {
		return nil, fmt.Errorf("in looks into a list or an object, and this is %s", kindOf(args[1]))
	}
	if x, _ := indexOf(args[1]); x != nil {
		return x.has(args[0])
	}
	for _, e := range of {
		if is, err := same(args[0], e); is || err != nil {
			return is, err
		}
	}
	return false, nil
}
