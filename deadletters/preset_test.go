package deadletters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
)

func TestPreset(t *testing.T) {
	t.Parallel()
	want := []string{
		"p.execution_requests exponential 5 30 300 2 0.1", "p.pod_events exponential 3 60 600 3 0.1",
		"p.resource_allocation immediate 3 0 0 0 0", "p.websocket_events fixed 10 10 0 0 0",
		" exponential 4 60 1800 2.5 0.1"}
	got := deadletters.Preset(deadletters.Presets()[0], deadletters.PresetOptions{Source: "s",
		Topics: func(name string) string { return "p." + strings.ReplaceAll(name, "-", "_") }})
	for i, p := range got {
		text := fmt.Sprint(p.Origin, " ", p.Strategy, " ", p.MaxRetries, p.BaseSeconds, p.CapSeconds, p.Multiplier, p.Jitter)
		if text != want[i] || p.Source != "s" || p.MaxAgeSeconds != 7*24*3600 || !p.DiscardTests || p.CopyRetries ||
			p.SetFrom != deadletters.SetByPreset {
			t.Errorf("%q, want %q: %+v", text, want[i], p)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d policies", len(got))
	}
	kept := deadletters.Preset(deadletters.PresetEventPlatform, deadletters.PresetOptions{KeepTests: true})
	if kept[1].Origin != "pod-events" || kept[0].DiscardTests || kept[0].Source != deadletters.AllSources {
		t.Errorf("%+v", kept[0])
	}
	if deadletters.Preset("other", deadletters.PresetOptions{}) != nil {
		t.Error("there is another preset")
	}
}
