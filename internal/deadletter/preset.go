package deadletter

import (
	"slices"
	"strings"
	"time"
)

// DefaultAge is the greatest age of letters under a preset, and under a policy that comes without one from an interface
// that promises an end.
const DefaultAge = 7 * 24 * time.Hour

// PresetEventPlatform is the preset for a platform that runs user code: requests for executions, events of pods,
// resources, and events for browsers.
const PresetEventPlatform = "event-platform"

// presets are the policies of presets by their names; the one for all other origins is the last.
var presets = map[string][]Policy{
	PresetEventPlatform: {
		{Origin: "execution-requests", Strategy: Exponential, MaxRetries: 5, Base: 30 * time.Second,
			Cap: 5 * time.Minute, Multiplier: 2},
		{Origin: "pod-events", Strategy: Exponential, MaxRetries: 3, Base: time.Minute, Cap: 10 * time.Minute,
			Multiplier: 3},
		{Origin: "resource-allocation", Strategy: Immediate, MaxRetries: 3},
		{Origin: "websocket-events", Strategy: Fixed, MaxRetries: 10, Base: 10 * time.Second},
		{Origin: "", Strategy: Exponential, MaxRetries: 4, Base: time.Minute, Cap: 30 * time.Minute, Multiplier: 2.5},
	},
}

// presetJitter is the jitter of the policies of presets whose delays grow: letters of one outage come back apart.
const presetJitter = 0.1

// Presets lists the names of the presets.
func Presets() []string { return []string{PresetEventPlatform} }

// PresetOptions adapt the policies of a preset.
type PresetOptions struct {
	Namespace, Source string // Source is "" for all sources of the namespace
	// Prefix is what the origins begin with where they are deployed.
	Prefix string
	// Underscores writes origins with _ in place of -.
	Underscores bool
	// KeepTests keeps test events, as a system under test wants.
	KeepTests bool
	MaxAge    time.Duration // 0: DefaultAge
}

// Preset returns the policies of a preset with their defaults, the one for all other origins last; nil for an unknown
// name.
func Preset(name string, o PresetOptions) []Policy {
	list := slices.Clone(presets[name])
	for i := range list {
		p := &list[i]
		if p.Origin != "" {
			if o.Underscores {
				p.Origin = strings.ReplaceAll(p.Origin, "-", "_")
			}
			p.Origin = o.Prefix + p.Origin
		}
		if p.Strategy == Exponential {
			p.Jitter = presetJitter
		}
		p.Namespace, p.Source, p.DiscardTests, p.MaxAge = o.Namespace, o.Source, !o.KeepTests, o.MaxAge
		if p.MaxAge == 0 {
			p.MaxAge = DefaultAge
		}
		p.SetFrom = SetByPreset
		*p = p.WithDefaults()
	}
	return list
}
