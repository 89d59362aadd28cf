package expr

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Numbers are exact decimals, as JSON writes them. Those that fit are ints; all others are text. Comparing costs
// time by the length of the texts, whatever the exponents. Calculating needs the digits of an exponent, so they are
// bounded.
const (
	// maxDigits bounds the digits of a number in a calculation, on each side of the point.
	maxDigits = 1000
	// quotientDigits is the precision of an endless quotient.
	quotientDigits = 34
	// exponentDigits keeps an exponent within an int64.
	exponentDigits = 15
)

var (
	errDigits = fmt.Errorf("the number is too large or too exact: an expression calculates with %d digits before the "+
		"point and %d behind it", maxDigits, maxDigits)
	errExponent = fmt.Errorf("the exponent of a number has more than %d digits", exponentDigits)
	errZero     = errors.New("division by zero")
	errWhole    = errors.New("% takes whole numbers")
)

// number is 0.DIGITS * 10^point. The digits neither begin nor end with 0; zero has none.
type number struct {
	negative bool
	digits   string
	point    int64
}

func isNumber(v any) bool {
	switch v.(type) {
	case int, json.Number:
		return true
	}
	return false
}

func parse(v any) (number, error) {
	var s string
	switch v := v.(type) {
	case int:
		s = strconv.Itoa(v)
	case json.Number:
		s = string(v)
	}
	s, negative := strings.CutPrefix(s, "-")
	exponent := int64(0)
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		power := s[at+1:]
		if len(strings.TrimLeft(power, "+-0")) > exponentDigits {
			return number{}, errExponent
		}
		exponent, _ = strconv.ParseInt(power, 10, 64) // it is a number of JSON
		s = s[:at]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole + fraction
	point := int64(len(whole)) + exponent
	short := strings.TrimLeft(digits, "0")
	point -= int64(len(digits) - len(short))
	if short = strings.TrimRight(short, "0"); short == "" {
		return number{}, nil
	}
	return number{negative, short, point}, nil
}

func compare(a, b any) (int, error) {
	if x, is := a.(int); is {
		if y, is := b.(int); is {
			return cmp.Compare(x, y), nil
		}
	}
	x, err := parse(a)
	if err != nil {
		return 0, err
	}
	y, err := parse(b)
	if err != nil {
		return 0, err
	}
	if x.sign() != y.sign() {
		return cmp.Compare(x.sign(), y.sign()), nil
	}
	return x.sign() * cmp.Or(cmp.Compare(x.point, y.point), strings.Compare(x.digits, y.digits)), nil
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// decimal is unscaled / 10^scale, with scale >= 0.
type decimal struct {
	unscaled *big.Int
	scale    int
}

func decimalOf(v any) (decimal, error) {
	n, err := parse(v)
	if err != nil {
		return decimal{}, err
	}
	behind := int64(len(n.digits)) - n.point // as many of the digits are behind the point
	if n.point > maxDigits || behind > maxDigits {
		return decimal{}, errDigits
	}
	d := decimal{new(big.Int), int(max(behind, 0))}
	if n.digits == "" {
		return decimal{d.unscaled, 0}, nil
	}
	d.unscaled.SetString(n.digits+strings.Repeat("0", int(max(-behind, 0))), 10)
	if n.negative {
		d.unscaled.Neg(d.unscaled)
	}
	return d, nil
}

func (d decimal) value() (any, error) {
	digits, sign := d.unscaled.String(), ""
	if d.unscaled.Sign() < 0 {
		sign, digits = "-", digits[1:]
	}
	digits = strings.Repeat("0", max(d.scale+1-len(digits), 0)) + digits
	whole := digits[:len(digits)-d.scale]
	fraction := strings.TrimRight(digits[len(whole):], "0")
	if len(whole) > maxDigits || len(fraction) > maxDigits {
		return nil, errDigits
	}
	if fraction == "" {
		return numberOf(sign + whole), nil
	}
	return json.Number(sign + whole + "." + fraction), nil
}

// times10 returns n * 10^power.
func times10(n *big.Int, power int) *big.Int {
	if power == 0 {
		return n
	}
	return new(big.Int).Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil))
}

func calculate(operator string, a, b any) (any, error) {
	if x, is := a.(int); is {
		if y, is := b.(int); is {
			if z, fits := OfInts(operator, x, y); fits {
				return z, nil
			}
		}
	}
	x, err := decimalOf(a)
	if err != nil {
		return nil, err
	}
	y, err := decimalOf(b)
	if err != nil {
		return nil, err
	}
	scale := max(x.scale, y.scale)
	switch operator {
	case "*":
		return decimal{new(big.Int).Mul(x.unscaled, y.unscaled), x.scale + y.scale}.value()
	case "/":
		return quotient(x, y)
	case "%":
		if scale > 0 {
			return nil, errWhole
		}
		if y.unscaled.Sign() == 0 {
			return nil, errZero
		}
		return decimal{new(big.Int).Rem(x.unscaled, y.unscaled), 0}.value()
	}
	left, right := times10(x.unscaled, scale-x.scale), times10(y.unscaled, scale-y.scale)
	if operator == "-" {
		return decimal{new(big.Int).Sub(left, right), scale}.value()
	}
	return decimal{new(big.Int).Add(left, right), scale}.value()
}

// OfInts applies an operator to two ints; fits reports whether the result is an int.
func OfInts(operator string, a, b int) (c int, fits bool) {
	switch operator {
	case "+":
		c = a + b
		return c, (c > a) == (b > 0)
	case "-":
		c = a - b
		return c, (c < a) == (b > 0)
	case "*":
		if a == 0 || b == 0 {
			return 0, true
		}
		c = a * b
		return c, c/b == a && (b != -1 || a != math.MinInt)
	case "/":
		if b != 0 && b != -1 && a%b == 0 {
			return a / b, true
		}
	case "%":
		if b != 0 && b != -1 {
			return a % b, true
		}
	}
	return 0, false
}

// quotient is exact if it ends; otherwise it is rounded to quotientDigits digits, but not before the point.
func quotient(a, b decimal) (any, error) {
	if b.unscaled.Sign() == 0 {
		return nil, errZero
	}
	q, rest := new(big.Int).QuoRem(times10(a.unscaled, maxDigits-a.scale+b.scale), b.unscaled, new(big.Int))
	if rest.Sign() == 0 {
		return decimal{q, maxDigits}.value()
	}
	drop := min(len(new(big.Int).Abs(q).String())-quotientDigits, maxDigits)
	if drop <= 0 {
		return nil, errDigits
	}
	unit := times10(big.NewInt(1), drop)
	sign := big.NewInt(int64(a.unscaled.Sign() * b.unscaled.Sign()))
	q, dropped := q.QuoRem(q, unit, new(big.Int))
	// The rest makes a half more than a half.
	if twice := dropped.Abs(dropped).Lsh(dropped, 1); twice.Cmp(unit) >= 0 {
		q.Add(q, sign)
	}
	return decimal{q, maxDigits - drop}.value()
}

func whole(v any) (int, bool) {
	if of, is := v.(json.Number); is {
		if d, err := decimalOf(of); err == nil {
			v, _ = d.value()
		}
	}
	n, is := v.(int)
	return n, is
}
