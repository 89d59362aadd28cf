package deploytest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program returns one of Prometheus's programs: beside PROMTOOL, or in the PATH. Without them the test is skipped, but
// never in CI.
func program(t *testing.T, name string) string {
	t.Helper()
	var path string
	if tool := os.Getenv("PROMTOOL"); tool != "" {
		path, _ = exec.LookPath(filepath.Join(filepath.Dir(tool), name)) // "" when there is none
	} else {
		path, _ = exec.LookPath(name)
	}
	switch {
	case path != "":
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not installed, and on CI it has to be: it is in the package prometheus; PROMTOOL may name promtool, "+
			"and the server is looked for beside it", name)
	default:
		t.Skipf("SKIPPED: %s is not installed, so what is in deploy/ is not run; it is in the package prometheus, and "+
			"PROMTOOL may name promtool", name)
	}
	return path
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
}

// scraper is a Prometheus that reads a server's metrics, and has the alert rules.
type scraper struct {
	t   *testing.T
	url string
}

func startPrometheus(t *testing.T, target string) *scraper {
	t.Helper()
	var files []string
	for _, name := range ruleFiles {
		path, err := filepath.Abs(deploy + "/prometheus/" + name + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, strconv.Quote(path))
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 400ms, scrape_timeout: 400ms, evaluation_interval: "+
		"200ms}\nrule_files: [%s]\n"+
		"scrape_configs: [{job_name: tasker, static_configs: [{targets: [%q]}]}]\n", strings.Join(files, ", "),
		strings.TrimPrefix(target, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil { // Prometheus takes no listener, only an address
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program(t, "prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data",
		"--web.listen-address="+address)
	var log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill()
		_ = cmd.Wait() // it was stopped
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", &log)
		}
	})
	return &scraper{t: t, url: "http://" + address}
}

// ask returns an error if Prometheus does not answer, or refuses.
func (p *scraper) ask(path string, out any) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	status, body, err := fetch(ctx, p.url+path)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return fmt.Errorf("answered %d %s: %w", status, body, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("answered %d: %s", status, answer.Error)
	}
	return json.Unmarshal(answer.Data, out)
}

// sample is one value in the answer to a query.
type sample struct {
	Metric map[string]string
	Value  [2]any // when, and a number as a text
}

func (p *scraper) query(expr string) ([]sample, error) {
	var data struct{ Result []sample }
	err := p.ask("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return data.Result, err
}

// await polls until a query has an answer: Prometheus does not report a scrape.
func (p *scraper) await(expr string) {
	p.t.Helper()
	if err := p.wait(expr); err != nil {
		p.t.Fatal(err)
	}
}

// wait is await with an error. A slow scrape leaves a gap of one tick in everything.
func (p *scraper) wait(expr string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		got, err := p.query(expr)
		if len(got) > 0 {
			return nil
		}
		last = err
	}
	return errors.Join(errors.New("Prometheus never had "+expr), last)
}

// TestPrometheus lets a Prometheus scrape a server during the story, evaluate the alert rules, and answer the
// dashboard's queries.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	s := serve(t, openSQLite)
	p := startPrometheus(t, s.url)
	p.await(`tasker_store_up == 1`)
	s.story()
	s.recount()
	// A rate needs two scrapes of every series.
	p.await(`count_over_time(tasker_dlq_time_in_queue_hours_count[1m]) >= 2`)
	p.await(`sum(increase(tasker_dlq_entries_created_total[5m])) > 0`)

	t.Run("Dashboard", func(t *testing.T) {
		for _, q := range queries(t) {
			if err := p.wait(q.expr); err != nil {
				t.Errorf("%s shows nothing: %v", q.panel, err)
			}
		}
	})
	t.Run("Alerts", func(t *testing.T) {
		// The story left a stale task that nobody detects, and an hour of waiting.
		for _, name := range []string{"StaleTasksNotDetected", "TaskerQueueNotServed", "TaskerStarvation"} {
			p.await(`ALERTS{alertname="` + name + `",alertstate="pending"}`)
		}
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := p.ask("/api/v1/rules", &data); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if n++; r.Health != "ok" {
					t.Errorf("the rule %s is %s: %s", r.Name, r.Health, r.LastError)
				}
			}
		}
		if want := len(rules(t)); n != want {
			t.Errorf("Prometheus has %d rules, want %d", n, want)
		}
	})
}
