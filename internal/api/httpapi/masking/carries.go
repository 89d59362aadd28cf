package masking

import (
	"reflect"
	"sync"
)

var carrying sync.Map

// Carries reports whether answers of a type may hold sensitive values.
func (m *Masker) Carries(t reflect.Type) bool { return holds(t) }

func holds(t reflect.Type) bool {
	if known, ok := carrying.Load(t); ok {
		return known.(bool)
	}
	found := search(t, map[reflect.Type]bool{})
	carrying.Store(t, found)
	return found
}

func search(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch {
	case t == rawType || wholes[t] != nil:
		return true
	case seen[t] || without[t] || t == timeType || t == uuidType || t == errorType:
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return search(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && search(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
