package config

import (
	"maps"
	"reflect"
	"slices"
)

// reloadable settings apply to a running server. The others shape existing connections, loops and memory, or must
// be the same on all nodes at a time.
var reloadable = []string{"keys", "log.level"}

// Reloadable returns the keys of the settings that Reload applies.
func Reloadable() []string { return slices.Clone(reloadable) }

// Reload returns c with the reloadable settings of next. taken are their changed keys, left the changed keys that
// need a restart. It changes neither c nor next.
func (c *Config) Reload(next *Config) (now *Config, taken, left []string) {
	merged := *c
	merged.origins = maps.Clone(c.origins)
	into, from := leaves(&merged), leaves(next)
	for i := range into {
		path := into[i].path
		if reflect.DeepEqual(into[i].field.Interface(), from[i].field.Interface()) {
			continue
		}
		if !slices.Contains(reloadable, path) {
			left = append(left, path)
			continue
		}
		into[i].field.Set(from[i].field)
		taken = append(taken, path)
		delete(merged.origins, path)
		if origin, known := next.origins[path]; known {
			merged.origins[path] = origin
		}
	}
	return &merged, taken, left
}
