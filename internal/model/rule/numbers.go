package rule

import (
	"errors"

	"github.com/expr-lang/expr"

	numbers "github.com/taskerhq/tasker/internal/model/expr"
)

// The numbers of a rule are lengths, positions and literals. Overflow and division by zero are errors here, unlike
// in the language. The names of these functions are no identifiers of an expression.
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

func arithmetic() []expr.Option {
	return []expr.Option{
		expr.Operator("+", fnAdd), expr.Function(fnAdd, ofInts("+"), new(func(int, int) int)),
		expr.Operator("-", fnSubtract), expr.Function(fnSubtract, ofInts("-"), new(func(int, int) int)),
		expr.Operator("*", fnMultiply), expr.Function(fnMultiply, ofInts("*"), new(func(int, int) int)),
		expr.Operator("/", fnDivide), expr.Function(fnDivide, divide, new(func(int, int) float64),
			new(func(int, float64) float64), new(func(float64, int) float64), new(func(float64, float64) float64)),
	}
}

func ofInts(operator string) func(...any) (any, error) {
	return func(params ...any) (any, error) {
		if c, fits := numbers.OfInts(operator, params[0].(int), params[1].(int)); fits {
			return c, nil
		}
		return nil, errOverflow
	}
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
