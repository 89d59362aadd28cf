package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
)

func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	cfg := load(t, config.Sources{Environ: []string{
		`TASKER_KEYS=[{name: a, sha256: ` + hashA + `, permissions: [admin]}]`,
		`TASKER_SOURCES=[{name: a, driver: x, url: "x://ann:hunter4@broker"}]`,
	}})
	cfg.DB.DSN = "postgres://bob:hunter2@db/tasker?sslpassword=hunter3"
	out, err := json.Marshal(cfg.Settings())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "hunter3", "hunter4", hashA} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%s is shown in %s", secret, out)
		}
	}
	if !strings.Contains(string(out), config.Redacted) || !strings.Contains(string(out), "bob") {
		t.Errorf("too much is hidden in %s", out)
	}
}

func TestRedactDSN(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"sqlite:tasker.db":                   "sqlite:tasker.db",
		"memory:":                            "memory:",
		"postgres://u:p@h/d":                 "postgres://u:xxxxx@h/d",
		"postgres://u:p%@h/d":                "postgres://xxxxx@h/d",
		"host=h user=u password=p dbname=d":  "host=h user=u password=xxxxx dbname=d",
		"sqlite:x.db?_key=abc&mode=ro":       "sqlite:x.db?_key=xxxxx&mode=ro",
		"postgres://h/d?password=p&user=bob": "postgres://h/d?password=xxxxx&user=bob",
		"postgresql://u:p@h:5432/d?a=b":      "postgresql://u:xxxxx@h:5432/d?a=b",
		"postgres://h/d?pass%77ord=p&a=b":    "postgres://h/d?pass%77ord=xxxxx&a=b",
		"postgres://h1:1,h2:2/d?password=p":  "postgres://h1:1,h2:2/d?password=xxxxx",
		"postgres://u:p@h1:1,h2:2/d":         "postgres://u:xxxxx@h1:1,h2:2/d",
		"sqlite:/data/a@b.db":                "sqlite:/data/a@b.db",

		// Passwords that lack percent-encoding.
		"postgres://u:p@ss@h/d": "postgres://u:xxxxx@h/d",
		"postgres://u:p/ss@h/d": "postgres://xxxxx@h/d",
		"postgres://u:p#ss@h/d": "postgres://xxxxx@h/d",
		"postgres://u:1/ss@h/d": "postgres://xxxxx@h/d",
		"postgres://u:1#ss@h/d": "postgres://xxxxx@h/d",
		"postgres://u:1?ss@h/d": "postgres://xxxxx@h/d",
		"postgres://u:p ss@h/d": "postgres://xxxxx@h/d",
		"postgres:u:p@h/d":      "postgres:xxxxx@h/d",
		"POSTGRES://u:p%@h/d":   "POSTGRES://xxxxx@h/d",

		"host=h password='a b' user=u":     "host=h password=xxxxx user=u",
		`host=h password='a\' b' user=u`:   "host=h password=xxxxx user=u",
		`host=h password = a\ b user=u`:    "host=h password = xxxxx user=u",
		"host=h sslpassword=p password='a": "host=h sslpassword=xxxxx password=xxxxx",
	}
	for in, want := range tests {
		if got := config.RedactDSN(in); got != want {
			t.Errorf("RedactDSN(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseDSN(t *testing.T) {
	t.Parallel()
	good := map[string]config.DSN{
		"tasker.db":         {Engine: "sqlite", Path: "tasker.db"},
		"sqlite:tasker.db":  {Engine: "sqlite", Path: "tasker.db"},
		"sqlite:///tmp/a":   {Engine: "sqlite", Path: "/tmp/a"},
		`C:\data\tasker.db`: {Engine: "sqlite", Path: `C:\data\tasker.db`},
		"memory:":           {Engine: "memory"},
		"postgres://h/d":    {Engine: "postgres", Path: "postgres://h/d"},
		"PostgreSQL://h/d":  {Engine: "postgres", Path: "postgresql://h/d"},
	}
	for in, want := range good {
		if got, err := config.ParseDSN(in); err != nil || got != want {
			t.Errorf("ParseDSN(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "sqlite:", "memory:x", "postgres:h/d", "host=h dbname=d", "mysql://h/d"} {
		if got, err := config.ParseDSN(in); err == nil {
			t.Errorf("ParseDSN(%q) = %v, want an error", in, got)
		}
	}
}

func TestDSNIsShownWithoutItsPassword(t *testing.T) {
	t.Parallel()
	const given = "postgres://bob:hunter2@db/tasker?schema=a"
	d, err := config.ParseDSN(given)
	if err != nil {
		t.Fatal(err)
	}
	if d.Source() != given {
		t.Errorf("Source is %q, want what was given", d.Source())
	}
	if got, want := d.String(), "postgres://bob:xxxxx@db/tasker?schema=a"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
}

func TestCheckOpen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*config.Config)
		refuse bool
	}{
		{"Loopback", func(c *config.Config) {}, false},
		{"LoopbackV6", func(c *config.Config) { c.Server.Listen = "[::1]:80" }, false},
		{"Localhost", func(c *config.Config) { c.Server.Listen = "localhost:80" }, false},
		{"Everywhere", func(c *config.Config) { c.Server.Listen = ":80" }, true},
		{"EverywhereV4", func(c *config.Config) { c.Server.Listen = "0.0.0.0:80" }, true},
		{"HostName", func(c *config.Config) { c.Server.Listen = "tasker.example.com:80" }, true},
		{"WithKeys", func(c *config.Config) { c.Server.Listen, c.Keys = ":80", []access.Key{{Name: "a"}} }, false},
		{"Allowed", func(c *config.Config) { c.Server.Listen, c.Server.AllowOpen = ":80", true }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			tt.change(&cfg)
			if err := cfg.CheckOpen(); (err != nil) != tt.refuse {
				t.Errorf("CheckOpen of %s returned %v", cfg.Server.Listen, err)
			}
		})
	}
}

func TestMessagesHideSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{}
	for _, wrong := range []string{"hunter2", "[hunter2]", "[[hunter2]]", "{hunter2: 1}", "[{hunter2: 1}]", "*hunter2",
		"[{a: !hunter2 b}]", "[{hunter2: 1, hunter2: 2}]",
		"[{name: a, url: [hunter2], secrets: hunter2, sha256: [hunter2]}]",
		"[{name: a, url: hunter2, secrets: {a: hunter2}, sha256: hunter2}]", "[{url: 'https://hunter2"} {
		for _, name := range []string{"WEBHOOKS", "KEYS", "SOURCES"} {
			environ = append(environ, "TASKER_"+name+"="+wrong)
		}
	}
	for _, url := range []string{"postgres://u:hunter2@h:x/d", "mysql://u:hunter2@h/d"} {
		for _, name := range []string{"DB", "DISPATCH", "MESSAGE_QUEUE_RABBITMQ_URL", "TELEMETRY_OTLP_ENDPOINT"} {
			environ = append(environ, "TASKER_"+name+"="+url)
		}
	}
	environ = append(environ, "TASKER_DISPATCH=u:hunter2@h", "TASKER_ENCRYPTION_KEYS=a hunter2",
		"TASKER_BLOBS_URL=s3://a:hunter2@b")
	for _, variable := range environ {
		cfg, err := config.Load(config.Sources{Environ: []string{variable}})
		shown := fmt.Sprint(err)
		if err == nil {
			shown = fmt.Sprint(cfg.Settings())
		}
		var e *tasker.Error
		if errors.As(err, &e) {
			shown = fmt.Sprint(e, e.Details)
		}
		if strings.Contains(shown, "hunter2") {
			at := strings.Index(shown, "hunter2")
			t.Errorf("%s: ...%s", variable, shown[max(0, at-100):at+7])
		}
	}
	for _, file := range []string{"db: {dsn: 4242}", "encryption: {keys: [4242]}", "blobs: {secret_access_key: 4242}",
		"keys: [{name: a, sha256: 4242}]", "webhooks: [{url: 4242, secrets: [4242]}]", "sources: [{url: 4242}]",
		"message_queue: {rabbitmq: {url: 4242}}", "dispatch: 4242", "telemetry: {otlp_endpoint: 4242}"} {
		_, err := config.Load(config.Sources{Text: file})
		var e *tasker.Error
		if !errors.As(err, &e) || strings.Contains(fmt.Sprint(e, e.Details), "4242") {
			t.Errorf("%s: %+v", file, err)
		}
	}
}
