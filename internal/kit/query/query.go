// Package query writes query parameters for clients of the HTTP API: it omits zero values, so that the server applies
// its defaults. It imports only the standard library and the UUID type, because the SDK uses it.
package query

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Values are the parameters of a request with other than zero values.
type Values url.Values

// Set sets a text, unless it is empty.
func (v Values) Set(key, value string) {
	if value != "" {
		url.Values(v).Set(key, value)
	}
}

// Add adds a further value of a parameter.
func (v Values) Add(key, value string) { url.Values(v).Add(key, value) }

// SetInt sets a number other than 0. It keeps a negative one, so that the server can refuse it.
func (v Values) SetInt(key string, n int) {
	if n != 0 {
		v.Set(key, strconv.Itoa(n))
	}
}

// SetID sets an ID other than the zero one.
func (v Values) SetID(key string, id uuid.UUID) {
	if id != uuid.Nil {
		v.Set(key, id.String())
	}
}

// SetTime sets a time unless it is zero.
func (v Values) SetTime(key string, t time.Time) {
	if !t.IsZero() {
		v.Set(key, t.UTC().Format(time.RFC3339Nano))
	}
}

// SetOptional sets a time, unless it is nil.
func (v Values) SetOptional(key string, t *time.Time) {
	if t != nil {
		v.Set(key, t.UTC().Format(time.RFC3339Nano))
	}
}

// Of returns the parameters of a filter: the fields with a tag query:"NAME", also of embedded structs. A pointer to a
// bool distinguishes false from nothing.
func Of(filter any) Values {
	v, object := Values{}, reflect.ValueOf(filter)
	for _, f := range reflect.VisibleFields(object.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("query"), ",")
		if name == "" {
			continue
		}
		value := object.FieldByIndex(f.Index)
		switch at := value.Interface().(type) {
		case time.Time:
			v.SetTime(name, at)
			continue
		case *time.Time:
			v.SetOptional(name, at)
			continue
		case uuid.UUID:
			v.SetID(name, at)
			continue
		case []uuid.UUID:
			for _, id := range at {
				v.Add(name, id.String())
			}
			continue
		case *bool:
			if at != nil {
				v.Set(name, strconv.FormatBool(*at))
			}
			continue
		}
		switch value.Kind() {
		case reflect.String:
			v.Set(name, value.String())
		case reflect.Int, reflect.Int64:
			v.SetInt(name, int(value.Int()))
		case reflect.Bool:
			if value.Bool() {
				v.Set(name, "true")
			}
		case reflect.Slice:
			for i := range value.Len() {
				v.Add(name, value.Index(i).String())
			}
		default:
			panic("query: no parameter can be a " + value.Type().String())
		}
	}
	return v
}
