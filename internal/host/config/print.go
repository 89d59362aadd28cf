package config

import (
	"reflect"
	"time"

	"github.com/taskerhq/tasker/internal/broker/webhook"
)

// Setting is one effective setting, without secrets.
type Setting struct {
	Key      string `json:"key"`
	Value    any    `json:"value"`
	Source   string `json:"source"`
	Variable string `json:"variable"` // its environment variable
}

// Redacted replaces a secret in Setting.Value.
const Redacted = "(redacted)"

// Settings lists every effective setting with its source, in the order of the documentation.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, s := range leaves(c) {
		from, ok := c.origins[s.path]
		if !ok {
			from = Origin{Layer: "default"}
		}
		out = append(out, Setting{
			Key: s.path, Value: plain(s.path, s.field), Source: from.String(), Variable: envName(s.path),
		})
	}
	return out
}

// secretive are the settings that may contain a secret, such as a password in a URL. No message repeats their
// values: a secret often is in the wrong place.
var secretive = []string{"blobs.secret_access_key", "db.dsn", "dispatch", "encryption.keys", "keys",
	"message_queue.rabbitmq.url", "sources", "telemetry.otlp_endpoint", "webhooks"}

// plain converts a field to strings, numbers, lists and maps. It finds secrets by key at any depth: a new secret
// needs a case here, and its setting a name in secretive.
func plain(path string, v reflect.Value) any {
	switch {
	case path == "db.dsn", path == "dispatch", path == "telemetry.otlp_endpoint", path == "message_queue.rabbitmq.url":
		return RedactDSN(v.String())
	case path == "sha256":
		return Redacted
	case path == "url": // of a broker
		return redactURL(v.String())
	case (path == "encryption.keys" || path == "blobs.secret_access_key") && v.String() != "":
		return Redacted
	case path == "webhook.secrets":
		return Redacted
	case path == "webhook.url":
		return webhook.ShowURL(v.String())
	case v.Type() == switchType && (v.String() == "true" || v.String() == "false"):
		return v.String() == "true"
	case v.Type() == durationType:
		return formatDuration(time.Duration(v.Int()))
	}
	switch v.Kind() {
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = plain("", v.Index(i))
		}
		return items
	case reflect.Struct:
		item := map[string]any{}
		for i := range v.NumField() {
			name := snake(v.Type().Field(i).Name)
			of := name
			if v.Type() == reflect.TypeFor[Webhook]() { // more secret than a broker's URL
				of = "webhook." + name
			}
			item[name] = plain(of, v.Field(i))
		}
		return item
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}
