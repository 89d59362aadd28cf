package expr

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// fnOperator begins the names of the functions that replace operators.
const fnOperator = "__"

// Kinds of values, for errors.
const (
	kindAny    = "any value"
	kindNull   = "null"
	kindBool   = "true or false"
	kindNumber = "number"
	kindString = "string"
	kindList   = "list"
	kindObject = "object"
)

// operands are the binary operators with the kinds that both operands may have; nil: any. Other operators of the
// language could be slow or are of no use here.
var operands = map[string][]string{
	"+": {kindNumber, kindString}, "-": {kindNumber}, "*": {kindNumber}, "/": {kindNumber}, "%": {kindNumber},
	"<": {kindNumber, kindString}, "<=": {kindNumber, kindString},
	">": {kindNumber, kindString}, ">=": {kindNumber, kindString},
	"contains": {kindString}, "startsWith": {kindString}, "endsWith": {kindString},
	"==": nil, "!=": nil, "&&": nil, "||": nil, "and": nil, "or": nil, "in": nil, "not in": nil, "??": nil,
}

func operate(operator string, a, b any) (any, error) {
	if isNumber(a) && isNumber(b) {
		switch operator {
		case "+", "-", "*", "/", "%":
			return calculate(operator, a, b)
		case "<", "<=", ">", ">=":
			order, err := compare(a, b)
			return ordered(operator, order), err
		}
	}
	s, one := stringOf(a)
	t, other := stringOf(b)
	if one && other {
		switch operator {
		case "+":
			return s + t, nil
		case "contains":
			return strings.Contains(s, t), nil
		case "startsWith":
			return strings.HasPrefix(s, t), nil
		case "endsWith":
			return strings.HasSuffix(s, t), nil
		case "<", "<=", ">", ">=":
			return ordered(operator, strings.Compare(s, t)), nil
		}
	}
	return nil, fmt.Errorf("invalid operation: %s %s %s", kind(a), operator, kind(b))
}

func ordered(operator string, order int) bool {
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func signed(sign string, v any) (any, error) {
	switch {
	case !isNumber(v):
		return nil, fmt.Errorf("invalid operation: %s %s", sign, kind(v))
	case sign == "-":
		return calculate("-", 0, v)
	}
	return v, nil
}

// kind names the kind of a value without showing the value.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBool
	case int, json.Number:
		return kindNumber
	case string, text:
		return kindString
	case Encoded:
		return "value encoded by the client"
	}
	if _, is := elementsOf(v); is {
		return kindList
	}
	return kindObject
}

func kindOf(v any) string {
	switch k := kind(v); k {
	case kindNull, kindBool:
		return k
	case kindObject:
		return "an " + k
	default:
		if e, is := v.(Encoded); is {
			return "a value " + e.String()
		}
		return "a " + k
	}
}

// operandFault explains why an operator cannot have its operands, as far as their static kinds tell.
func operandFault(n *ast.BinaryNode) string {
	may, left, right := operands[n.Operator], staticKind(n.Left), staticKind(n.Right)
	for _, k := range may {
		if (left == k || left == kindAny) && (right == k || right == kindAny) {
			return ""
		}
	}
	if may == nil {
		return ""
	}
	return fmt.Sprintf("invalid operation: %s (mismatched types %s and %s)", n.Operator, left, right)
}

// staticKind is the kind of a node that is known without running it.
func staticKind(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NilNode:
		return kindNull
	case *ast.BoolNode:
		return kindBool
	case *ast.IntegerNode, *ast.ConstantNode:
		return kindNumber
	case *ast.StringNode:
		return kindString
	case *ast.ArrayNode:
		return kindList
	case *ast.MapNode:
		return kindObject
	case *ast.IdentifierNode:
		if n.Value == "null" {
			return kindNull
		}
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return kindNumber
		}
		return kindBool
	case *ast.BinaryNode:
		switch n.Operator {
		case "-", "*", "/", "%":
			return kindNumber
		case "+":
			if left := staticKind(n.Left); left != kindAny {
				return left
			}
			return staticKind(n.Right)
		case "??":
			return kindAny
		}
		return kindBool
	}
	return kindAny
}
