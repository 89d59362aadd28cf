package config

import (
	"maps"
	"reflect"
	"slices"
)

// reloadable are the settings that a running server takes over. The others shape connections, loops and memory that
// exist already, or must be the same on all nodes at one time.
var reloadable = []string{"keys", "log.level"}

// Reloadable returns the keys of the settings that Reload takes over.
func Reloadable() []string { return slices.Clone(reloadable) }

// Reload returns the configuration of a running server after next was read: c with the reloadable settings of next.
// taken are their keys where they have changed, left the keys of other settings that have changed and need a restart.
// It changes neither c nor next.
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
