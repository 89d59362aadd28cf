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
	"github.com/taskerhq/tasker/internal/config"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/pgtest"
)

// pageDSN is what docs/operations.md calls the database.
const pageDSN = "postgres://tasker@db.example.com:5432/tasker"

// TestOperationsPage runs docs/operations.md from top to bottom, as one session, on
// a server whose night was bad, and whose troubles are over in the morning. What a
// text block shows has to be what the block before it has printed.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"curl", "jq", "psql", "sqlite3"} {
		need(t, program)
	}
	dsn := pgtest.DSN(t)
	haveIncident(t, dsn)
	server := serveOn(t, dsn, func(cfg *config.Config) {
		cfg.Engine.StalenessDetection.Enabled = engine.Off // the page detects
	})
	morning(t, server.client)

	shown := shownBlocks(t, "docs/operations.md")
	plain, path := asPSQL(t, dsn)
	var script strings.Builder
	fmt.Fprintf(&script, "trap 'kill $(jobs -p) 2> /dev/null' EXIT\nexport PGOPTIONS=%s\ncd %s\n", path, laptop(t))
	for _, b := range shown {
		fmt.Fprintf(&script, "%s\necho '%s'\n", strings.ReplaceAll(b.commands, pageDSN, "'"+plain+"'"), endOfBlock)
	}
	out, err := start(t, server, script.String()).wait()
	printed := strings.Split(out, endOfBlock+"\n")
	if err != nil {
		t.Errorf("the session of docs/operations.md: %v, in\n%s", err, shown[min(len(printed), len(shown))-1].commands)
	}
	texts := 0
	for i, b := range shown[:min(len(printed), len(shown))] {
		if b.text != "" {
			texts++
			b.check(t, printed[i])
		}
	}
	if len(shown) < 20 || texts < 15 {
		t.Errorf("the page has %d blocks to run, and shows what %d print", len(shown), texts)
	}
}

// TestAlertsHaveARunbook wants the page to say what to do about every alert, and
// about no others.
func TestAlertsHaveARunbook(t *testing.T) {
	t.Parallel()
	names := func(file string, re *regexp.Regexp) []string {
		var found []string
		for _, m := range re.FindAllStringSubmatch(read(t, file), -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return found
	}
	rules := names("deploy/prometheus/alerts.yml", regexp.MustCompile(`(?m)^ +- alert: (\w+)$`))
	rows := names("docs/operations.md", regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|"))
	if len(rules) < 5 || !slices.Equal(rules, rows) {
		t.Errorf("the alerts are %q\ndocs/operations.md is about %q", rules, rows)
	}
}

// TestCommandsInProse wants the commands that sentences name to be there.
func TestCommandsInProse(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, page := range []string{"README.md", "docs/operations.md", "docs/postgres.md", "docs/configuration.md"} {
		for _, m := range inProse.FindAllStringSubmatch(fence.ReplaceAllString(read(t, page), ""), -1) {
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

// asPSQL takes a DSN apart into what psql understands, and the options that lead
// to its schema.
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

// laptop makes a directory with a tasker.db in which there is a case.
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
	if _, err := c.OpenCase(t.Context(), receipt.TaskUUID, tasker.OpenCaseRequest{Reason: "to be looked at", OpenedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// morning begins it: a worker to whom everything works.
func morning(t *testing.T, client *tasker.Client) {
	t.Helper()
	w := tasker.NewWorker(client, &tasker.WorkerOptions{Name: "worker-2", PollWait: time.Second, Logger: slog.New(slog.DiscardHandler)})
	for handler, result := range map[string]any{
		"validate": map[string]bool{"valid": true}, "charge": map[string]string{"receipt": "R-17"}, "ship": map[string]string{"parcel": "P-5"},
		"render": map[string]int{"pages": 2}, "export": map[string]int{"rows": 812}, "book": nil, "pay": nil,
	} {
		w.Handle(handler, func(context.Context, *tasker.Job) (any, error) { return result, nil })
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

// shownBlock is a block of commands, and what the page says that they print.
type shownBlock struct{ commands, text string }

// endOfBlock is a line between what two blocks print.
const endOfBlock = "<<<<< end of block"

func shownBlocks(t *testing.T, page string) []shownBlock {
	t.Helper()
	var shown []shownBlock
	for _, b := range blocks(t, page) {
		switch b.language {
		case "bash":
			shown = append(shown, shownBlock{commands: b.text})
		case "text":
			shown[len(shown)-1].text = b.text
		default:
			t.Errorf("nobody runs a block in %q:\n%s", b.language, b.text)
		}
	}
	return shown
}

// check wants the lines of the text one below the other in what was printed,
// without a line between two of them but where the page has a line of dots.
func (b shownBlock) check(t *testing.T, printed string) {
	t.Helper()
	rest := "\n" + even(printed)
	for part := range strings.SplitSeq("\n"+even(b.text), "\n...\n") {
		part = "\n" + strings.Trim(part, "\n") + "\n"
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("docs/operations.md shows of\n%s\n%s\nbut this is what is printed:\n%s", b.commands, b.text, printed)
			return
		}
		rest = "\n" + after
	}
}

var unsteady = regexp.MustCompile(`\b\d+\.\d+\b|\b(\d+h)?(\d+m)?\d+(h|m|ms|s)( ago)?\b|\bnow\b|-{2,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|\+00)`)

// even replaces what differs from run to run, and makes the width of columns not
// matter.
func even(s string) string {
	s = unsteady.ReplaceAllString(anUUID.ReplaceAllString(s, "UUID"), "X")
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, squeeze(line))
	}
	return strings.Join(lines, "\n") + "\n"
}
