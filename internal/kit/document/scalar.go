package document

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
)

// The core schema of YAML 1.2, section 10.3.2. The parser has 1_000 and 0123 of YAML 1.1, and takes 1e3 and whole
// numbers beyond 64 bits for strings.
var (
	wholeForm = regexp.MustCompile(`^[-+]?[0-9]+$`)
	basedForm = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	floatForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	infForm   = regexp.MustCompile(`^[-+]?\.(inf|Inf|INF)$`)
)

// resolve returns the node of a plain (unquoted) scalar or a JSON number, so that 1.0 and 1e0 have the same canonical
// text in both notations.
func (r *reader) resolve(raw string, at Position) *Node {
	switch raw {
	case "", "~", "null", "Null", "NULL":
		return newScalar(Null, at, "null", raw)
	case "true", "True", "TRUE":
		return newScalar(Boolean, at, "true", raw)
	case "false", "False", "FALSE":
		return newScalar(Boolean, at, "false", raw)
	case ".nan", ".NaN", ".NAN":
		r.report(at, "%s is not a number that JSON knows", raw)
		return newBroken(at)
	}
	if infForm.MatchString(raw) {
		r.report(at, "%s is not a number that JSON knows", raw)
		return newBroken(at)
	}
	if whole, based := wholeForm.MatchString(raw), basedForm.MatchString(raw); whole || based ||
		floatForm.MatchString(raw) {
		if len(raw) > r.Limits.Digits {
			r.report(at, "the number %s is longer than %d characters", wording.Quoted(raw), r.Limits.Digits)
			return newBroken(at)
		}
		if whole || based {
			return newScalar(Integer, at, wholeText(raw, based), raw)
		}
		return r.float(raw, at)
	}
	return newScalar(Text, at, raw, raw)
}

// float normalizes to the nearest double, as every reader of JSON does. It refuses a number that is too large; one that
// is too small becomes 0.
func (r *reader) float(raw string, at Position) *Node {
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		r.report(at, "the number %s is out of range", wording.Quoted(raw))
		return newBroken(at)
	}
	if f == 0 {
		f = 0 // drops the sign of -0
	}
	return newScalar(Float, at, strconv.FormatFloat(f, 'g', -1, 64), raw)
}

// wholeText normalizes a whole number of any size to decimal digits.
func wholeText(raw string, based bool) string {
	base := 10
	if based {
		base = map[byte]int{'o': 8, 'x': 16}[raw[1]]
		raw = raw[2:]
	}
	n, _ := new(big.Int).SetString(strings.TrimPrefix(raw, "+"), base) // the form was checked
	return n.String()
}
