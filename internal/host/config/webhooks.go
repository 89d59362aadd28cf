package config

import (
	"fmt"
	"regexp"

	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// webhookName is safe in a path and an error message.
var webhookName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

const maxWebhookNamespaces, maxNamespace = 100, 255

// No message repeats a URL or a secret.
func (l *loader) validateWebhooks() {
	if n := len(l.cfg.Webhooks); n > webhook.MaxEndpoints {
		l.problem(l.place("webhooks"), "webhooks has %d entries; the limit is %d", n, webhook.MaxEndpoints)
	}
	names := map[string]int{}
	for i, w := range l.cfg.Webhooks {
		bad := func(field, format string, args ...any) {
			path := fmt.Sprintf("webhooks[%d].%s", i, field)
			l.problem(l.place(path), path+" "+format, args...)
		}
		switch first, twice := names[w.Name]; {
		case w.Name == "":
			bad("name", "is missing")
		case twice:
			bad("name", "is the name of webhooks[%d] too", first)
		case len(w.Name) > webhook.MaxName || !webhookName.MatchString(w.Name):
			bad("name", "must have 1 to %d letters, digits and - _ . between them", webhook.MaxName)
		}
		names[w.Name] = i
		if fault := webhook.URLFault(w.URL); fault != "" {
			bad("url", "%s", fault)
		}
		if n := len(w.Secrets); n < 1 || n > webhook.MaxSecrets {
			bad("secrets", "must have 1 to %d entries, not %d", webhook.MaxSecrets, n)
		}
		for j, s := range w.Secrets {
			if _, err := webhook.ParseSecret(s); err != nil {
				bad(fmt.Sprintf("secrets[%d]", j), "%v", err)
			}
		}
		for j, event := range w.Events {
			if err := oneOf(event, deadletter.HookTypes...); err != nil {
				bad(fmt.Sprintf("events[%d]", j), "%v", err)
			}
		}
		if len(w.Namespaces) > maxWebhookNamespaces {
			bad("namespaces", "has %d entries; the limit is %d", len(w.Namespaces), maxWebhookNamespaces)
		}
		for j, n := range w.Namespaces {
			fault := task.TextFault(n, maxNamespace)
			if n == "" {
				fault = "must not be empty"
			}
			if fault != "" {
				bad(fmt.Sprintf("namespaces[%d]", j), "%s", fault)
			}
		}
	}
}

// Endpoints returns the webhooks of a valid configuration.
func (c *Config) Endpoints() []webhook.Endpoint {
	var out []webhook.Endpoint
	for _, w := range c.Webhooks {
		to := webhook.Endpoint{Name: w.Name, URL: w.URL, Events: w.Events, Namespaces: w.Namespaces}
		if len(to.Events) == 0 {
			to.Events = deadletter.DefaultHookTypes
		}
		for _, text := range w.Secrets {
			if s, err := webhook.ParseSecret(text); err == nil { // Load has checked it
				to.Secrets = append(to.Secrets, s)
			}
		}
		out = append(out, to)
	}
	return out
}
