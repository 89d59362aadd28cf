package expr

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"
)

// literals are the numbers, by position, that the language would round or refuse.
type literals map[int]json.Number

// literalsOf returns such numbers and the source with zeros instead of them.
func literalsOf(source string) (literals, string) {
	tokens, err := lexer.Lex(file.NewSource(source))
	if err != nil {
		return nil, source // the parser reports the error
	}
	var found literals
	var masked []rune
	for _, t := range tokens {
		if t.Kind != lexer.Number {
			continue
		}
		exact, is := literalOf(t.Value)
		if !is {
			continue
		}
		if found == nil {
			found, masked = literals{}, []rune(source)
		}
		found[t.From] = exact
		for i := t.From; i < t.To; i++ {
			masked[i] = '0'
		}
	}
	if found == nil {
		return nil, source
	}
	return found, string(masked)
}

func literalOf(s string) (json.Number, bool) {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return "", false
	}
	if len(s) > 1 && s[0] == '0' && strings.IndexByte("xbo", s[1]) >= 0 {
		n, ok := new(big.Int).SetString(s, 0)
		if !ok || n.IsInt64() {
			return "", false
		}
		return json.Number(n.String()), true
	}
	mantissa, exponent, _ := strings.Cut(s, "e")
	digits, fraction, _ := strings.Cut(mantissa, ".")
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	if fraction != "" {
		digits += "." + fraction
	}
	if strings.Contains(s, "e") {
		digits += "e" + exponent
	}
	return json.Number(digits), json.Valid([]byte(digits))
}

// Visit implements ast.Visitor: it puts the numbers back.
func (l literals) Visit(node *ast.Node) {
	if n, is := (*node).(*ast.IntegerNode); is {
		if exact, found := l[n.Location().From]; found {
			ast.Patch(node, &ast.ConstantNode{Value: exact})
		}
	}
}
