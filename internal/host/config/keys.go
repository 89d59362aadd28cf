package config

import (
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/settings"
)

type leaf struct {
	path  string
	field reflect.Value
}

// leaves lists the settings in field order, the order of `config print`.
func leaves(c *Config) []leaf {
	return appendLeaves(nil, "", reflect.ValueOf(c).Elem())
}

// A nested struct is a section.
func appendLeaves(out []leaf, prefix string, v reflect.Value) []leaf {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		path := prefix + snake(f.Name)
		if f.Type == deliveryType {
			continue // part of message_queue
		}
		if f.Type.Kind() == reflect.Struct {
			out = appendLeaves(out, path+".", v.Field(i))
			continue
		}
		out = append(out, leaf{path, v.Field(i)})
	}
	return out
}

// snake converts a Go field name to a key: PayloadBytes to payload_bytes, DSN to dsn. A run of capitals and digits
// is one word.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) // of a word, even after an acronym
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func envName(path string) string {
	return "TASKER_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func isSection(settings []leaf, path string) bool {
	for _, s := range settings {
		if strings.HasPrefix(s.path, path+".") {
			return true
		}
	}
	return false
}

// nearest returns the most similar known word, "" if none is similar enough.
func nearest(word string, known []string) string {
	return wording.Nearest(word, known, 1+len(word)/3)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	switchType   = reflect.TypeFor[settings.Switch]()
	deliveryType = reflect.TypeFor[settings.Delivery]()
)
