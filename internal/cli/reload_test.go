package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/model/access"
)

type reloading struct {
	t      *testing.T
	file   string
	url    string
	hangup chan os.Signal
	log    *watcher
}

func serveFile(t *testing.T, text string) *reloading {
	t.Helper()
	r := &reloading{t: t, file: filepath.Join(t.TempDir(), "tasker.yaml"), hangup: make(chan os.Signal, 1),
		log: &watcher{re: regexp.MustCompile(`$^`)}}
	r.write(text)
	ctx, cancel := context.WithCancel(t.Context())
	urls, ended := make(chan string, 1), make(chan int, 1)
	out := &watcher{re: regexp.MustCompile(`listening on (\S+)`), then: func(m []string) { urls <- m[1] }}
	go func() {
		ended <- cli.Run(ctx, cli.Process{
			Args:    []string{"tasker", "serve", "--config", r.file, "--db", "memory:", "--listen", "127.0.0.1:0"},
			Version: "test", In: strings.NewReader(""), Out: out, Err: r.log, Now: time.Now,
			Hangups: func() (<-chan os.Signal, func()) { return r.hangup, func() {} },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("the server ended with %d:\n%s", code, r.log)
		}
	})
	select {
	case r.url = <-urls:
	case code := <-ended:
		ended <- code
		t.Fatalf("the server ended with %d:\n%s", code, r.log)
	}
	return r
}

func (r *reloading) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// reload changes the file, sends SIGHUP and waits for the log's result.
func (r *reloading) reload(text, says string) {
	r.t.Helper()
	r.write(text)
	before := strings.Count(r.log.String(), says)
	r.hangup <- syscall.SIGHUP
	for range 1000 {
		if strings.Count(r.log.String(), says) > before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("the log does not say %q:\n%s", says, r.log)
}

// The caller closes the body.
func (r *reloading) get(path, key string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func (r *reloading) status(key string, want int) {
	r.t.Helper()
	resp := r.get("/v1/tasks", key)
	_ = resp.Body.Close()
	if resp.StatusCode != want {
		r.t.Errorf("the answer was %d, want %d", resp.StatusCode, want)
	}
}

// TestReload: SIGHUP changes API keys and log level, and nothing for a faulty file. A removed key's streams end;
// others continue.
func TestReload(t *testing.T) {
	t.Parallel()
	ann, annHash := access.Generate()
	ben, benHash := access.Generate()
	key := func(name, hash string) string {
		return fmt.Sprintf("  - {name: %s, sha256: %s, permissions: [read]}\n", name, hash)
	}
	r := serveFile(t, "keys:\n"+key("ann", annHash)+key("ben", benHash))
	r.status(ann, http.StatusOK)
	streams := map[string]*bufio.Reader{}
	for name, secret := range map[string]string{"ann": ann, "ben": ben} {
		resp := r.get("/v1/events", secret)
		t.Cleanup(func() { _ = resp.Body.Close() })
		streams[name] = bufio.NewReader(resp.Body)
		if _, err := streams[name].ReadString('\n'); err != nil { // it has begun
			t.Fatal(err)
		}
	}

	carl, carlHash := access.Generate()
	next := "keys:\n" + key("ben", benHash) + key("carl", carlHash)
	r.reload(next+"server: {listen: 127.0.0.1:1, max_streams: 7}\nlog: {level: debug}\n", `settings=server.max_streams`)
	if !strings.Contains(r.log.String(), `changed="keys, log.level"`) {
		t.Errorf("the log does not say what has changed:\n%s", r.log)
	}
	r.status(ann, http.StatusUnauthorized)
	r.status(ben, http.StatusOK)
	r.status(carl, http.StatusOK)
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(streams["ann"]); err != nil { // to its end
		t.Errorf("the stream of a removed key: %v", err)
	}
	if strings.Contains(rest.String(), "stream.end") {
		t.Errorf("the stream says that it is complete:\n%s", &rest)
	}

	for name, bad := range map[string]string{
		"Syntax": next + "log: {level: loud}\n",
		"NoKeys": "log: {level: info}\n",
	} {
		r.reload(bad, "the configuration was not read again")
		r.status(ben, http.StatusOK)
		if t.Failed() {
			t.Fatalf("after %s", name)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := streams["ben"].ReadString(0) // reads to the end: events have no 0 byte
		ended <- err
	}()
	r.reload("keys:\n"+key("carl", carlHash), `changed="keys, log.level"`)
	if err := <-ended; err == nil {
		t.Error("the stream of a key goes on after the key is gone")
	}
}
