package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/settings"
)

const hashA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func write(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasker.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, src config.Sources) *config.Config {
	t.Helper()
	cfg, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// problems loads src, which must fail, and returns "place: message" lines without the file's directory.
func problems(t *testing.T, src config.Sources) []string {
	t.Helper()
	_, err := config.Load(src)
	var e *tasker.Error
	if !errors.As(err, &e) || e.Code != tasker.CodeInvalid {
		t.Fatalf("Load returned %v, want a *tasker.Error of code invalid", err)
	}
	var out []string
	for _, d := range e.Details {
		out = append(out, strings.TrimPrefix(d.Location, filepath.Dir(src.File)+"/")+": "+d.Message)
	}
	return out
}

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	cfg := load(t, config.Sources{})
	if cfg.DB.DSN != "sqlite:tasker.db" || cfg.Server.Listen != "127.0.0.1:8080" {
		t.Errorf("defaults are %+v", cfg)
	}
	if diff := cmp.Diff(settings.Config{}.WithDefaults(), cfg.Engine); diff != "" {
		t.Errorf("engine defaults differ (-want +got):\n%s", diff)
	}
	for _, s := range cfg.Settings() {
		if s.Source != "default" {
			t.Errorf("%s comes from %q", s.Key, s.Source)
		}
	}
}

func TestLoadPrecedence(t *testing.T) {
	t.Parallel()
	file := write(t, `
db: sqlite:file.db
server:
  listen: 127.0.0.1:1
  body_bytes: 1000
log: {level: warn}
`)
	cfg := load(t, config.Sources{
		File:    file,
		Environ: []string{"TASKER_DB=sqlite:env.db", "TASKER_SERVER_LISTEN=127.0.0.1:2", "TASKER_LOG_FORMAT=", "HOME=/x"},
		Flags:   []config.Flag{{Name: "--db", Key: "db.dsn", Text: "sqlite:flag.db"}},
	})
	got := map[string]string{}
	for _, s := range cfg.Settings() {
		if s.Source != "default" {
			got[s.Key] = strings.Replace(s.Source, filepath.Dir(file)+"/", "", 1)
		}
	}
	want := map[string]string{
		"db.dsn":            "flag --db",
		"server.listen":     "env TASKER_SERVER_LISTEN",
		"server.body_bytes": "file tasker.yaml:5:3",
		"log.level":         "file tasker.yaml:6:7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sources differ (-want +got):\n%s", diff)
	}
	if cfg.DB.DSN != "sqlite:flag.db" || cfg.Server.Listen != "127.0.0.1:2" || cfg.Server.BodyBytes != 1000 ||
		cfg.Log.Format != "text" {
		t.Errorf("in force is %+v", cfg)
	}
}

func TestLoadEverySectionOfTheEngine(t *testing.T) {
	t.Parallel()
	cfg := load(t, config.Sources{
		File: write(t, `
engine:
  limits: {payload_bytes: 1024}
  leases:
    claim_mode: single_phase
    heartbeat_interval: 5s
    free_requeue_fraction: -1
  retention:
    finished: -1
    workers: 7d12h
  priorities:
    - {name: urgent, level: 90, max_retries: 9, timeout: 1m, max_retry_delay: 5s}
  resubmit_after_terminal: true
  idempotency_mismatch: accept
keys:
  - {name: ci, sha256: `+hashA+`, permissions: [submit, read], namespaces: [build]}
`),
		Environ: []string{"TASKER_ENGINE_LIMITS_BATCH_ITEMS=7", "TASKER_ENGINE_UPKEEP_INTERVAL=250ms",
			"TASKER_SERVER_ALLOW_OPEN=1"},
	})
	want := settings.Config{
		Limits: settings.Limits{PayloadBytes: 1024, BatchItems: 7},
		Leases: settings.Leases{ClaimMode: settings.SinglePhase, HeartbeatInterval: 5 * time.Second,
			FreeRequeueFraction: -1},
		Retention: settings.Retention{Finished: -1, Workers: 180 * time.Hour},
		Priorities: []settings.PriorityLevel{
			{Name: "urgent", Level: 90, MaxRetries: 9, Timeout: time.Minute, MaxRetryDelay: 5 * time.Second}},
		ResubmitAfterTerminal: true,
		IdempotencyMismatch:   settings.MismatchAccept,
		UpkeepInterval:        250 * time.Millisecond,
	}.WithDefaults()
	if diff := cmp.Diff(want, cfg.Engine); diff != "" {
		t.Errorf("engine differs (-want +got):\n%s", diff)
	}
	wantKeys := []access.Key{{Name: "ci", SHA256: hashA, Permissions: []string{"submit", "read"},
		Namespaces: []string{"build"}}}
	if diff := cmp.Diff(wantKeys, cfg.Keys); diff != "" {
		t.Errorf("keys differ (-want +got):\n%s", diff)
	}
	if !cfg.Server.AllowOpen {
		t.Error("TASKER_SERVER_ALLOW_OPEN=1 was not taken for true")
	}
}

func TestNumbersInTheFormsOfYAML(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"1200", "1_200", "+1200", "1.2e3", "1200.0", "0x4b0"} {
		cfg := load(t, config.Sources{
			File:    write(t, "server: {max_connections: "+form+"}\n"),
			Environ: []string{"TASKER_SERVER_MAX_STREAMS=" + form},
		})
		if cfg.Server.MaxConnections != 1200 || cfg.Server.MaxStreams != 1200 {
			t.Errorf("%s is read as %d in the file and %d in the environment", form, cfg.Server.MaxConnections,
				cfg.Server.MaxStreams)
		}
	}
	for _, form := range []string{`"1_200"`, "1_2.5", "_1", "99999999999999999999", "1.5", "[1]", "~"} {
		got := problems(t, config.Sources{Environ: []string{"TASKER_SERVER_MAX_STREAMS=" + form}})
		if len(got) != 1 || !strings.HasPrefix(got[0],
			"TASKER_SERVER_MAX_STREAMS: server.max_streams must be a whole number") {
			t.Errorf("%s is answered %q", form, got)
		}
	}
}

func TestLoadListFromEnvironment(t *testing.T) {
	t.Parallel()
	cfg := load(t,
		config.Sources{Environ: []string{`TASKER_KEYS=[{"name":"a","sha256":"` + hashA + `","permissions":["admin"]}]`}})
	if len(cfg.Keys) != 1 || cfg.Keys[0].Name != "a" {
		t.Errorf("keys are %+v", cfg.Keys)
	}
}

func TestLoadPassesOverKubernetesServiceLinks(t *testing.T) {
	t.Parallel()
	load(t, config.Sources{Environ: []string{
		"TASKER_SERVICE_HOST=10.0.0.1", "TASKER_SERVICE_PORT=80", "TASKER_SERVICE_PORT_HTTP=80",
		"TASKER_PORT=tcp://10.0.0.1:80",
		"TASKER_PORT_80_TCP=tcp://10.0.0.1:80", "TASKER_PORT_80_TCP_ADDR=10.0.0.1", "TASKER_WEB_SERVICE_HOST=10.0.0.1",
		"TASKER_SERVER=http://x", "TASKER_API_KEY=k", "TASKER_CONFIG=f", "TASKER_TEST_POSTGRES=postgres://h/d",
	}})
	for _, s := range load(t, config.Sources{}).Settings() {
		if _, err := config.Load(config.Sources{Environ: []string{s.Variable + "=\x01"}}); err == nil && s.Key != "db.dsn" {
			t.Errorf("%s is not read", s.Variable)
		}
	}
}

const permissionWords = "submit, read, operate, work, dead-letters:read, dead-letters:redrive, dead-letters:edit, " +
	"dead-letters:discard, sources:admin, sensitive, admin"

func TestLoadProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, yaml string
		environ    []string
		want       []string
	}{
		{"UnknownKeys", "server:\n  lisen: x\nservers: {a: 1}\nengine:\n  leases:\n    zzzzzzzzzz: 1\n", nil, []string{
			"tasker.yaml:2:3: unknown key server.lisen; did you mean server.listen?",
			"tasker.yaml:3:1: unknown key servers",
			"tasker.yaml:6:5: unknown key engine.leases.zzzzzzzzzz",
		}},
		{"UnknownVariable", "", []string{"TASKER_SERVER_LISTN=x", "TASKER_QQQQQQQQQQQQQQ=y"}, []string{
			"TASKER_QQQQQQQQQQQQQQ: no setting has this variable",
			"TASKER_SERVER_LISTN: no setting has this variable; did you mean TASKER_SERVER_LISTEN?",
		}},
		{"Telemetry", "telemetry: {otlp_endpoint: \"http://ann:hunter2@:collector\", sample_ratio: 2}\n", nil, []string{
			"tasker.yaml:1:13: telemetry.otlp_endpoint: must be a URL such as http://localhost:4318",
			"tasker.yaml:1:61: telemetry.sample_ratio: must be from 0 to 1, not 2",
		}},
		{"EveryProblemAtOnce",
			"log: {level: loud, format: xml}\nserver: {listen: nowhere}\nengine: {limits: {page_items: -5}}\n",
			[]string{"TASKER_DB=mysql://u:p@h/d", "TASKER_DB_MIGRATE=nevr", "TASKER_DB_POOL_SIZE=-1"}, []string{
				`TASKER_DB: db.dsn: unknown database "mysql"; use sqlite:PATH, postgres://..., memory: or a plain path`,
				`TASKER_DB_MIGRATE: db.migrate: must be one of auto, never, not "nevr"; did you mean never?`,
				"TASKER_DB_POOL_SIZE: db.pool_size: must be from 0 to 10000",
				`tasker.yaml:2:10: server.listen: must be HOST:PORT, not "nowhere"`,
				`tasker.yaml:1:7: log.level: must be one of debug, info, warn, error, not "loud"`,
				`tasker.yaml:1:20: log.format: must be one of text, json, not "xml"`,
				"tasker.yaml:3:19: engine.limits.page_items must be positive",
			}},
		{"WrongTypes", "server: {listen: 8080, body_bytes: many, allow_open: maybe, drain_timeout: 30}\nengine: {leases: " +
			"{free_requeue_fraction: x}}\nkeys: nobody\n", nil, []string{
			"tasker.yaml:1:10: server.listen must be text, not 8080",
			`tasker.yaml:1:42: server.allow_open must be true or false, not "maybe"`,
			`tasker.yaml:1:24: server.body_bytes must be a whole number, not "many"`,
			"tasker.yaml:1:61: server.drain_timeout must be a duration with a unit, such as 500ms, 30s, 5m, 24h or 7d, not 30",
			`tasker.yaml:2:19: engine.leases.free_requeue_fraction must be a number, not "x"`,
			`tasker.yaml:3:1: keys must be a list, not text`,
		}},
		{"SectionsAndValues", "server: 8080\nlog: {level: {a: b}}\n", nil, []string{
			"tasker.yaml:1:1: server is a section: it holds keys such as server.listen",
			"tasker.yaml:2:7: log.level must be text, not a section",
		}},
		{"KeysByItem", "keys:\n  - name: a\n    sha256: abc\n    permissions: [reed]\n  - name: b\n    sha256: " + hashA +
			"\n", nil, []string{
			"tasker.yaml:3:5: keys[0].sha256 must be 64 hexadecimal digits, as `tasker key generate` prints them",
			`tasker.yaml:4:19: keys[0].permissions[0] must be one of ` + permissionWords + `, not "reed"; did you mean read?`,
			"tasker.yaml:5:5: keys[1].permissions is missing: say some of " + permissionWords,
		}},
		{"KeysTwice", "keys:\n- {name: a, sha256: " + hashA + ", permissions: [read]}\n- {name: a, sha256: " + hashA +
			", permissions: [read], namespaces: ['']}\n", nil, []string{
			"tasker.yaml:3:4: keys[1].name is the name of keys[0] too",
			"tasker.yaml:3:13: keys[1].sha256 is the hash of keys[0] too",
			"tasker.yaml:3:121: keys[1].namespaces[0] must not be empty",
		}},
		{"Sources", "sources:\n  - {name: a, driver: http, targets: ['x*y'], max_open: -1}\n  - driver: http\n" +
			"  - {name: a, driver: ''}\n", nil, []string{
			"tasker.yaml:2:39: sources[0].targets[0] must be a URL that begins with https:// or http:// and a host",
			"tasker.yaml:2:47: sources[0].max_open must be from 0 to 100000000",
			"tasker.yaml:3:5: sources[1].name must not be empty",
			"tasker.yaml:4:15: sources[2].driver must not be empty",
			"tasker.yaml:4:6: sources[2].name is the name of sources[0] too",
		}},
		{"SourcesWithSlashes", "sources:\n  - {namespace: a/b, name: c, driver: http}\n" +
			"  - {namespace: a, name: b/c, driver: http, targets: ['https://*']}\n", nil, []string{
			"tasker.yaml:3:55: sources[1].targets[0] must name its host and port without *: " +
				"write https://billing.internal/* for all of a host",
		}},
		{"PoliciesOfASource", "sources:\n  - name: a\n    driver: http\n    policies:\n" +
			"      - {strategy: hope, max_retries: -1}\n" +
			"      - {origin: o, strategy: exponential, base_seconds: 60, cap_seconds: 30}\n" +
			"      - {origin: o, strategy: scheduled, time_of_day: '3:30', only_error_types: [a, '']}\n" +
			"      - {origin: p, strategy: fixed, max_age_seconds: -1, base_seconds: 1e99}\n", nil, []string{
			"tasker.yaml:5:10: sources[0].policies[0].strategy must be one of manual, immediate, fixed, exponential, scheduled",
			"tasker.yaml:5:26: sources[0].policies[0].max_retries must be from 1 to 1000",
			"tasker.yaml:6:62: sources[0].policies[1].cap_seconds must not be shorter than base",
			"tasker.yaml:7:42: sources[0].policies[2].time_of_day must be a time of day such as 03:30",
			"tasker.yaml:7:85: sources[0].policies[2].only_error_types[1] must not be empty",
			"tasker.yaml:7:10: sources[0].policies[2].origin is that of policies[1] too",
			"tasker.yaml:8:59: sources[0].policies[3].base_seconds must be from 0s to 720h0m0s",
			"tasker.yaml:8:38: sources[0].policies[3].max_age_seconds must be from 0s to 87600h0m0s",
		}},
		{"Intake", "sources:\n  - name: a\n    driver: memory\n    queue: q\n    intake:\n      template: t\n" +
			"      max_retries: 3\n      tags: ['']\n      on_failure: {write: q}\n", nil, []string{
			"tasker.yaml:7:7: sources[0].intake.max_retries goes with task_type only: a template has its own",
			"tasker.yaml:8:14: sources[0].intake.tags[0] must not be empty",
			"tasker.yaml:9:20: sources[0].intake.on_failure.write is the queue of the source: failures would become tasks again",
		}},
		{"UnknownKeyInAnItem", "keys:\n  - name: a\n    permision: [read]\n", nil, []string{
			"tasker.yaml:3:5: keys[0].permision is an unknown key; known are name, sha256, permissions, namespaces",
		}},
		{"BrokenYAML", "server: [1\n", nil, []string{"tasker.yaml:1:9: sequence end token ']' not found"}},
		{"SameKeyTwice", "log: {level: info}\nlog: {level: warn}\n", nil,
			[]string{`tasker.yaml:2:1: the key "log" is used twice; first on line 1`}},
		{"TwoDocuments", "log: {level: info}\n---\nlog: {level: warn}\n", nil,
			[]string{"tasker.yaml:2:1: the file is one document; a second one begins here"}},
		{"NoMapping", "- a\n", nil, []string{"tasker.yaml:1:1: the file must hold sections and keys, such as `server:`"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, config.Sources{File: write(t, tt.yaml), Environ: tt.environ})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadMissingFile(t *testing.T) {
	t.Parallel()
	got := problems(t, config.Sources{File: "/nowhere/tasker.yaml"})
	want := []string{"tasker.yaml: the configuration file cannot be read: no such file or directory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestLoadEmptyFileAndEmptySections(t *testing.T) {
	t.Parallel()
	for _, yaml := range []string{"", "# nothing\n", "server:\nengine:\n  leases:\ndb:\nkeys:\n", "null\n"} {
		cfg := load(t, config.Sources{File: write(t, yaml)})
		if cfg.Server.Listen != config.Default().Server.Listen {
			t.Errorf("%q changed the defaults: %+v", yaml, cfg)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{"", "db: x", "server: {listen: 1}", "keys: [{name: a}]", "a: &a [*a]", "<<: {}",
		"? {a: b}\n: c", "db: !!binary x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, yaml string) {
		cfg, err := config.Load(config.Sources{File: write(t, yaml)})
		if (cfg == nil) == (err == nil) {
			t.Errorf("Load returned %v and %v", cfg, err)
		}
	})
}
