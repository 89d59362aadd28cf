package deadletters

import "time"

// PresetEventPlatform is the preset for a platform that runs user code: requests for executions, events of pods,
// resources, and events for browsers.
const PresetEventPlatform = "event-platform"

// Presets lists the names of the presets of policies.
func Presets() []string { return []string{PresetEventPlatform} }

// PresetOptions adapt a preset.
type PresetOptions struct {
	Namespace string                   // "" is default
	Source    string                   // "" is AllSources
	Topics    func(name string) string // the origin of a topic of the preset; nil keeps the names
	KeepTests bool                     // for a system under test: test events are not discarded
}

// presetAge is the greatest age of letters under a preset, presetJitter the jitter of delays that grow.
const (
	presetAge    = 7 * 24 * time.Hour
	presetJitter = 0.1
)

// Preset returns the policies of a preset, that for all other origins last; nil for an unknown name. Each is saved with
// SavePolicy.
func Preset(name string, o PresetOptions) []Policy {
	if name != PresetEventPlatform {
		return nil
	}
	list := []Policy{
		{Origin: "execution-requests", Strategy: Exponential, MaxRetries: 5, BaseSeconds: 30, CapSeconds: 300, Multiplier: 2},
		{Origin: "pod-events", Strategy: Exponential, MaxRetries: 3, BaseSeconds: 60, CapSeconds: 600, Multiplier: 3},
		{Origin: "resource-allocation", Strategy: Immediate, MaxRetries: 3},
		{Origin: "websocket-events", Strategy: Fixed, MaxRetries: 10, BaseSeconds: 10},
		{Strategy: Exponential, MaxRetries: 4, BaseSeconds: 60, CapSeconds: 1800, Multiplier: 2.5},
	}
	for i := range list {
		p := &list[i]
		p.Namespace, p.Source, p.SetFrom = o.Namespace, o.Source, SetByPreset
		if p.Source == "" {
			p.Source = AllSources
		}
		if p.Origin != "" && o.Topics != nil {
			p.Origin = o.Topics(p.Origin)
		}
		if p.Strategy == Exponential {
			p.Jitter = presetJitter
		}
		p.MaxAgeSeconds, p.DiscardTests = presetAge.Seconds(), !o.KeepTests
	}
	return list
}
