package doctest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/pagetest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// pageDSN is the database in docs/guides/operations.md.
const pageDSN = "postgres://tasker@db.example.com:5432/tasker"

// TestOperationsPage runs docs/guides/operations.md as one session, on a server after a bad night. A text block must be
// the output of the block before it.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	pagetest.Need(t, "curl", "jq", "psql", "sqlite3")
	dsn := pgtest.DSN(t)
	haveIncident(t, dsn)
	server := serveOn(t, dsn, func(cfg *config.Config) {
		cfg.Engine.StalenessDetection.Enabled = settings.Off // the page detects
	})
	morning(t, server.client)

	for _, b := range blocks(t, "docs/guides/operations.md") {
		if b.Language != "bash" && b.Language != "text" {
			t.Errorf("nobody runs a block in %q:\n%s", b.Language, b.Text)
		}
	}
	plain, path := asPSQL(t, dsn)
	page := script{page: "docs/guides/operations.md", replace: strings.NewReplacer(pageDSN, "'"+plain+"'"),
		before: fmt.Sprintf("export PGOPTIONS=%s\ncd %s\n", path, laptop(t))}
	if ran, shown := page.run(t, server); ran < 20 || shown < 15 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", ran, shown)
	}
}

// TestAlertsHaveARunbook: the page has instructions for exactly the existing alerts.
func TestAlertsHaveARunbook(t *testing.T) {
	t.Parallel()
	names := func(re *regexp.Regexp, files ...string) []string {
		var found []string
		for _, file := range files {
			for _, m := range re.FindAllStringSubmatch(read(t, file), -1) {
				found = append(found, m[1])
			}
		}
		slices.Sort(found)
		return found
	}
	rules := names(regexp.MustCompile(`(?m)^ +- alert: (\w+)$`), "deploy/prometheus/alerts.yml",
		"deploy/prometheus/queue.yml", "deploy/prometheus/letters.yml", "deploy/prometheus/dispatch.yml",
		"deploy/prometheus/redisqueue.yml")
	rows := names(regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|"), "docs/guides/operations.md")
	if len(rules) < 5 || !slices.Equal(rules, rows) {
		t.Errorf("the alerts are %q\ndocs/operations.md is about %q", rules, rows)
	}
}

// TestCommandsInProse: commands named in sentences exist.
func TestCommandsInProse(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, page := range []string{"README.md", "docs/guides/operations.md", "docs/guides/postgres.md",
		"docs/reference/configuration.md"} {
		for _, m := range inProse.FindAllStringSubmatch(pagetest.Prose(read(t, page)), -1) {
			named[strings.TrimSpace(m[1])] = true
		}
	}
	if len(named) < 10 {
		t.Errorf("sentences name only the commands %v", named)
	}
	for command := range named {
		args, says := append(strings.Fields(command), "--help"), "tasker "+command
		if topic, ok := strings.CutPrefix(command, "help "); ok {
			args, says = args[:2], strings.ReplaceAll(topic, "-", " ")
		}
		out, err := exec.CommandContext(t.Context(), "tasker", args...).CombinedOutput()
		if err != nil || !strings.Contains(strings.ToLower(string(out)), says) {
			t.Errorf("there is no command tasker %s: %v\n%s", command, err, out)
		}
	}
}

// inProse finds the words of a command before its arguments and flags.
var inProse = regexp.MustCompile("`tasker((?: [a-z]+(?:-[a-z]+)*)+)")

// asPSQL splits a DSN into psql's form, and the options for its schema.
func asPSQL(t *testing.T, dsn string) (plain, options string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	options = "-csearch_path=" + q.Get("schema")
	q.Del("schema")
	u.RawQuery = q.Encode()
	return u.String(), options
}

// laptop makes a directory with a tasker.db that has a case.
func laptop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c, err := embedded.Open(t.Context(), "sqlite:"+dir+"/tasker.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.Submit(t.Context(), tasker.TaskRequest{TaskType: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operate.Of(c).OpenCase(t.Context(), receipt.TaskUUID,
		operate.OpenCaseRequest{Reason: "to be looked at", OpenedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// morning starts a worker whose steps all succeed.
func morning(t *testing.T, client *tasker.Client) {
	t.Helper()
	w := worker.New(client, &worker.Options{Name: "worker-2", PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	for handler, result := range map[string]any{
		"validate": map[string]bool{"valid": true}, "charge": map[string]string{"receipt": "R-17"},
		"ship":   map[string]string{"parcel": "P-5"},
		"render": map[string]int{"pages": 2}, "export": map[string]int{"rows": 812}, "book": nil, "pay": nil,
	} {
		w.Handle(handler, func(context.Context, *worker.Job) (any, error) { return result, nil })
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
