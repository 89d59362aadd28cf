package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/cli"
)

// TestDocs: only this machine reaches the documentation, until an interrupt.
func TestDocs(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	exit := make(chan int, 1)
	go func() {
		exit <- cli.Run(ctx, cli.Process{Args: []string{"tasker", "docs", "--json"}, Out: write, Err: write})
	}()
	var said struct{ URL string }
	if err := json.NewDecoder(bufio.NewReader(read)).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said.URL, "http://127.0.0.1:") {
		t.Errorf("it listens at %s", said.URL)
	}
	resp, err := http.Get(said.URL + "/pages/guides/workflows.md") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "<h1 id=\"workflows\">") {
		t.Errorf("the page is answered with %d, %v", resp.StatusCode, err)
	}
	interrupt()
	if code := <-exit; code != 0 {
		t.Errorf("the command exits with %d", code)
	}
}
