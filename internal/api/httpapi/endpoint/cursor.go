package endpoint

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A cursor belongs to its list and filter: with another filter it would silently skip or repeat entries. Every list
// marks its cursors with a hash of the parameters that select and order, and refuses a foreign mark; an act on a
// selection, page by page, does so with the filter of its body. The backend sees cursors without marks. A cursor
// without a mark comes from a node of an older version and is accepted.

type cursors struct {
	list   string  // the operation
	body   bool    // the fields are the body's, not the parameters'
	given  []int   // field of the parameters
	next   []int   // field of the answer
	filter []field // the parameters that select and order
}

type field struct {
	name string
	at   []int
}

var notFilter = map[string]bool{"cursor": true, "limit": true, "include": true}

// cursorsOf returns how an operation pages: a cursor in its parameters or body, and the next one in its answer.
func cursorsOf(list string, params, body, answer reflect.Type) *cursors {
	c := &cursors{list: list}
	c.ofParameters(params)
	if c.given == nil {
		c.ofBody(body)
	}
	if c.given == nil || !c.findNext(answer) {
		return nil
	}
	return c
}

func (c *cursors) ofParameters(params reflect.Type) {
	for _, f := range reflect.VisibleFields(params) {
		name := f.Tag.Get("query")
		if name == "" {
			name = f.Tag.Get("path")
		}
		switch {
		case name == "cursor" && f.Type.Kind() == reflect.String:
			c.given = f.Index
		case f.Type == reflect.TypeFor[time.Time](): // "of the last day" is another time with each page
		case name != "" && !notFilter[name]:
			c.filter = append(c.filter, field{name, f.Index})
		}
	}
}

func (c *cursors) ofBody(body reflect.Type) {
	if body.Kind() != reflect.Struct {
		return
	}
	c.body, c.filter = true, nil
	for _, f := range reflect.VisibleFields(body) {
		switch name := jsonName(f); {
		case name == "cursor" && f.Type.Kind() == reflect.String:
			c.given = f.Index
		case name == "filter" && f.Type.Kind() == reflect.Struct:
			for _, of := range reflect.VisibleFields(f.Type) {
				if name := jsonName(of); name != "" && name != "-" && of.Type != reflect.TypeFor[time.Time]() {
					c.filter = append(c.filter, field{name, slices.Concat(f.Index, of.Index)})
				}
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func (c *cursors) findNext(answer reflect.Type) bool {
	if answer.Kind() == reflect.Pointer {
		answer = answer.Elem()
	}
	if answer.Kind() != reflect.Struct {
		return false
	}
	for _, f := range reflect.VisibleFields(answer) {
		if name := jsonName(f); (name == "next_cursor" || name == "cursor") && f.Type.Kind() == reflect.String {
			c.next = f.Index
			return true
		}
	}
	return false
}

func (c *cursors) mark(request reflect.Value) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, c.list)
	for _, f := range c.filter {
		v := request.FieldByIndex(f.at)
		if v.IsZero() {
			continue
		}
		value, _ := json.Marshal(v.Interface()) // texts, numbers, times and lists of them
		_, _ = fmt.Fprintf(h, " %s=%s", f.name, value)
	}
	return fmt.Sprintf("~%08x", h.Sum32())
}

// read removes the mark from the cursor of a request and returns the mark for the next one. It refuses a mark of
// another list or filter.
func (c *cursors) read(params, body any) (mark string, err error) {
	if c == nil {
		return "", nil
	}
	v, at := reflect.ValueOf(params).Elem(), "query.cursor"
	if c.body {
		v, at = reflect.ValueOf(body).Elem(), "/cursor"
	}
	mark = c.mark(v)
	given := v.FieldByIndex(c.given)
	cursor, marked := strings.CutSuffix(given.String(), mark)
	if i := strings.LastIndexByte(cursor, '~'); !marked && i >= 0 && len(cursor)-i == len(mark) {
		return "", BadParameter(at, "belongs to another list or another filter: "+
			"repeat the filter with which you got it, or leave it out to begin anew")
	}
	given.SetString(cursor)
	return mark, nil
}

func (c *cursors) give(answer any, mark string) {
	if c == nil {
		return
	}
	v := reflect.ValueOf(answer).Elem()
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	next, err := v.FieldByIndexErr(c.next)
	if err == nil && next.String() != "" {
		next.SetString(next.String() + mark)
	}
}
