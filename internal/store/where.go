package store

import (
	"strconv"
	"strings"
)

// where builds a condition and its arguments. Only here is SQL assembled from parts; values are always arguments. The
// zero value has no terms. A copy shares its arguments until either grows: to continue the numbers of another one,
// start with its args, as in where{args: w.args}.
type where struct {
	terms []string
	args  []any
}

func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

// add adds a term; each ? in it is a placeholder of the next value. A term must contain exactly as many ? as there are
// values.
func (w *where) add(term string, values ...any) {
	for _, v := range values {
		term = strings.Replace(term, "?", w.arg(v), 1)
	}
	w.terms = append(w.terms, term)
}

// addIf adds a term if cond is true. The values are evaluated in any case.
func (w *where) addIf(cond bool, term string, values ...any) {
	if cond {
		w.add(term, values...)
	}
}

func (w *where) text() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}
