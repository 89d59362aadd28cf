package config_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
)

const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestWebhooks(t *testing.T) {
	t.Parallel()
	for _, sources := range []config.Sources{
		{File: write(t, "webhooks:\n- name: ops.1\n  url: https://hooks.example/T0/token\n  secrets: ["+key+
			"]\n  events: [group.new, redrive.halted]\n  namespaces: [shop]\n")},
		{Environ: []string{"TASKER_WEBHOOKS=[{name: ops.1, url: 'https://hooks.example/T0/token', secrets: [" + key +
			"], events: [group.new, redrive.halted], namespaces: [shop]}]"}},
	} {
		cfg := load(t, sources)
		got := cfg.Endpoints()
		if len(got) != 1 || got[0].Name != "ops.1" || len(got[0].Secrets) != 1 || !got[0].Wants("group.new", "shop") ||
			got[0].Wants("source.lost", "shop") || got[0].URL != "https://hooks.example/T0/token" {
			t.Errorf("the endpoints are %+v", got)
		}
		shown, err := json.Marshal(cfg.Settings())
		if err != nil || strings.Contains(string(shown), key) || strings.Contains(string(shown), "token") ||
			!strings.Contains(string(shown), "https://hooks.example/...") {
			t.Errorf("shown as %s, %v", shown, err)
		}
	}
}

func TestWebhooksRefused(t *testing.T) {
	t.Parallel()
	const rest = ", url: 'https://h', secrets: [" + key + "]"
	many := strings.Repeat("{name: a},", 21)
	for text, want := range map[string]string{
		"{url: 'https://h', secrets: [" + key + "]}":                            "webhooks[0].name is missing",
		"{name: a b" + rest + "}":                                               "webhooks[0].name must have",
		"{name: ../x" + rest + "}":                                              "webhooks[0].name must have",
		"{name: " + strings.Repeat("a", 65) + rest + "}":                        "webhooks[0].name must have",
		"{name: a" + rest + "}, {name: a" + rest + "}":                          "webhooks[1].name is the name of webhooks[0] too",
		"{name: a, secrets: [" + key + "]}":                                     "webhooks[0].url must be a URL",
		"{name: a, url: 'file:///hunter2', secrets: [" + key + "]}":             "webhooks[0].url must be a URL",
		"{name: a, url: 'https://h'}":                                           "webhooks[0].secrets must have 1 to 5",
		"{name: a, url: 'https://h', secrets: hunter2}":                         "webhooks[0].secrets must be a list, not text",
		"{name: a, url: 'https://h', secrets: [hunter2]}":                       "webhooks[0].secrets[0] must be whsec_",
		"{name: a, url: 'https://h', secrets: [[hunter2]]}":                     "webhooks[0].secrets[0] must be text, not a list",
		"{name: a, url: {hunter2: 1}, secrets: [" + key + "]}":                  "webhooks[0].url must be text, not a section",
		"{name: a, events: [group.old]" + rest[0:] + "}":                        "did you mean group.new?",
		"{name: a, namespaces: ['']" + rest + "}":                               "webhooks[0].namespaces[0] must not be empty",
		"{name: a, namespaces: [" + strings.Repeat("x", 256) + "]" + rest + "}": "webhooks[0].namespaces[0]",
		many: "webhooks has 21 entries; the limit is 20",
	} {
		_, err := config.Load(config.Sources{Environ: []string{"TASKER_WEBHOOKS=[" + strings.TrimSuffix(text, ",") + "]"}})
		var e *tasker.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		all, _ := json.Marshal(e.Details)
		if !strings.Contains(string(all), want) || strings.Contains(string(all), "hunter2") ||
			strings.Contains(string(all), key) {
			t.Errorf("%s: %s, want %s", text, all, want)
		}
	}
}
