package expr

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// Each dependant of a step may search the same long list. So a list of plain values from a document gets an index
// by value on its first search.

const indexedFrom = 32

// index holds the elements of a long list by value. It is built lazily.
type index struct {
	once     sync.Once
	size     int // of the list, by sizeOf
	elements map[any]struct{}
	plain    bool // no element is a list, an object or anything that cannot be compared
	numbers  bool // an element is a number
	some     bool // an element is not null
}

// decimalKey is the key of equal numbers that are no int.
type decimalKey struct {
	negative bool
	digits   string
	point    int64
}

// keyOf returns the key that all values equal to a plain one share. plain is false for other values.
func keyOf(v any) (key any, plain bool, err error) {
	switch v := v.(type) {
	case nil, bool, int, string:
		return v, true, nil
	case text:
		return v.value, true, nil
	case json.Number:
		n, err := parse(v)
		if err != nil {
			return nil, true, err
		}
		if zeros := n.point - int64(len(n.digits)); zeros >= 0 && n.point <= 19 { // of an int
			sign := ""
			if n.negative {
				sign = "-"
			}
			if i, err := strconv.Atoi(sign + "0" + n.digits + strings.Repeat("0", int(zeros))); err == nil {
				return i, true, nil
			}
		}
		return decimalKey(n), true, nil
	}
	return nil, false, nil
}

// of builds the index once. fresh reports that this call built it.
func (x *index) of(elements []any) (fresh bool) {
	x.once.Do(func() {
		fresh = true
		x.size = 1 + sizeOfEach(elements)
		known := make(map[any]struct{}, len(elements))
		for _, e := range elements {
			key, plain, err := keyOf(e)
			if !plain || err != nil {
				return
			}
			known[key] = struct{}{}
			x.some = x.some || e != nil
			x.numbers = x.numbers || isNumber(e)
		}
		x.elements, x.plain = known, true
	})
	return fresh
}

// has returns the result and the error that a comparison with each element has.
func (x *index) has(v any) (bool, error) {
	key, plain, err := keyOf(v)
	switch {
	case err != nil && x.numbers:
		return false, err
	case !plain && x.some:
		if e, found := encodedIn(v); found {
			return false, unreadable(e)
		}
	}
	if !plain || err != nil {
		return false, nil
	}
	_, found := x.elements[key]
	return found, nil
}

// indexOf returns the index of a long list of plain values, nil for other values. fresh is as in of.
func indexOf(v any) (x *index, fresh bool) {
	l, is := v.(list)
	if !is || l.index == nil {
		return nil, false
	}
	if fresh = l.index.of(l.elements); !l.index.plain {
		return nil, fresh
	}
	return l.index, fresh
}

// lookedAt counts the elements that in compares, apart from building an index.
func lookedAt(v any) int {
	x, fresh := indexOf(v)
	switch {
	case x == nil:
		return sizeOf(v)
	case fresh:
		return x.size
	}
	return 1
}
