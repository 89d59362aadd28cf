package rule

import (
	"errors"
	"math"

	"github.com/expr-lang/expr"
)

// The numbers of a rule are lengths, positions and literals. The language wraps around what is too large, and divides
// by zero; here both are errors. The names of these functions cannot be written in an expression.
const (
	fnAdd      = "+ int"
	fnSubtract = "- int"
	fnMultiply = "* int"
	fnDivide   = "/ number"
)

var (
	errOverflow = errors.New("the result has more than 64 bits")
	errZero     = errors.New("division by zero")
)

// arithmetic are the operators of numbers.
func arithmetic() []expr.Option {
	return []expr.Option{
		expr.Operator("+", fnAdd), expr.Function(fnAdd, add, new(func(int, int) int)),
		expr.Operator("-", fnSubtract), expr.Function(fnSubtract, subtract, new(func(int, int) int)),
		expr.Operator("*", fnMultiply), expr.Function(fnMultiply, multiply, new(func(int, int) int)),
		expr.Operator("/", fnDivide), expr.Function(fnDivide, divide, new(func(int, int) float64),
			new(func(int, float64) float64), new(func(float64, int) float64), new(func(float64, float64) float64)),
	}
}

func add(params ...any) (any, error) {
	a, b := params[0].(int), params[1].(int)
	if c := a + b; (c > a) == (b > 0) {
		return c, nil
	}
	return nil, errOverflow
}

func subtract(params ...any) (any, error) {
	a, b := params[0].(int), params[1].(int)
	if c := a - b; (c < a) == (b > 0) {
		return c, nil
	}
	return nil, errOverflow
}

func multiply(params ...any) (any, error) {
	a, b := params[0].(int), params[1].(int)
	c := a * b
	if a != 0 && (c/a != b || a == -1 && b == math.MinInt) {
		return nil, errOverflow
	}
	return c, nil
}

func divide(params ...any) (any, error) {
	b := float(params[1])
	if b == 0 {
		return nil, errZero
	}
	return float(params[0]) / b, nil
}

func float(v any) float64 {
	if n, is := v.(int); is {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}
