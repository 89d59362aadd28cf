package expr

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// Many steps may look for something in the same long list: each dependant of a step that has a condition. So a list of
// a document that has only plain values knows its elements by value, from the first look on: in takes one look-up then,
// and not one for each element.

// indexedFrom is the length from which a list has an index.
const indexedFrom = 32

// index is what a long list of a document knows of its elements. It is made when it is first asked for.
type index struct {
	once     sync.Once
	size     int // of the list, by sizeOf
	elements map[any]struct{}
	plain    bool // no element is a list, an object or anything that cannot be compared
	numbers  bool // an element is a number
	some     bool // an element is not null
}

// decimalKey stands for the numbers of one value that are no int.
type decimalKey struct {
	negative bool
	digits   string
	point    int64
}

// keyOf returns what all values that are equal to a plain one have in common. plain is false for other values.
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

// of makes the index of elements, or returns it as it is. fresh reports that it was made just now.
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

// has is in for an index of plain values. It has the result, and the error, that a look at each element has.
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

// indexOf returns the index of a value that is a long list of plain values, nil for any other. fresh is as in of.
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

// lookedAt is how many elements in looks at, beside those that it has looked at for its index.
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
