package config

import (
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/taskerhq/tasker/internal/settings"
	"github.com/taskerhq/tasker/internal/wording"
)

// leaf is one setting: its path, and the field that holds it.
type leaf struct {
	path  string
	field reflect.Value
}

// leaves lists the settings of c in the order of its fields.
func leaves(c *Config) []leaf {
	return appendLeaves(nil, "", reflect.ValueOf(c).Elem())
}

func appendLeaves(out []leaf, prefix string, v reflect.Value) []leaf {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		path := prefix + snake(f.Name)
		if f.Type.Kind() == reflect.Struct {
			out = appendLeaves(out, path+".", v.Field(i))
			continue
		}
		out = append(out, leaf{path, v.Field(i)})
	}
	return out
}

// snake turns a Go field name into a key: PayloadBytes into payload_bytes,
// DSN into dsn. A run of capitals and digits is one word.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) // of a word, after an acronym too
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// envName is the environment variable of a key.
func envName(path string) string {
	return "TASKER_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// isSection reports whether path names a section of some setting.
func isSection(settings []leaf, path string) bool {
	for _, s := range settings {
		if strings.HasPrefix(s.path, path+".") {
			return true
		}
	}
	return false
}

// nearest returns the known word closest to word, or "" when none is close.
func nearest(word string, known []string) string {
	return wording.Nearest(word, known, 1+len(word)/3)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	switchType   = reflect.TypeFor[settings.Switch]()
)
