package cli_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/remote"
)

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Check(err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, want %d", args[1], got, want)
	}
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("no match of a group of %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// patience bounds the failure of a broken program.
const patience = time.Minute

// eventually polls, because it waits for other processes.
func eventually(ts *testscript.TestScript, what string, done func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if done() {
			return
		}
	}
	ts.Fatalf("%s did not happen", what)
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP PROGRAM [ARGS...]")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	eventually(ts, "a match of "+args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && re.MatchString(ts.ReadFile("stdout"))
	})
}

func begins(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: begins FILE")
	}
	want := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	if got := ts.ReadFile("stdout"); !strings.HasPrefix(got, want) {
		ts.Fatalf("the output does not begin with %s:\n%s\nbut is:\n%s", args[0], want, got)
	}
}

// awaitServer waits for a background server's address file; $LISTEN is its host and port.
func awaitServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: server FILE")
	}
	eventually(ts, "the address of a server in "+args[0], func() bool {
		url, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil {
			return false
		}
		ts.Setenv("TASKER_SERVER", strings.TrimSpace(string(url)))
		ts.Setenv("LISTEN", strings.TrimPrefix(ts.Getenv("TASKER_SERVER"), "http://"))
		return true
	})
}

func awaitStreams(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: streams NUMBER")
	}
	eventually(ts, args[0]+" open streams of events", func() bool {
		resp, err := http.Get(ts.Getenv("TASKER_SERVER") + "/metrics")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(page), "\ntasker_event_streams "+args[0]+"\n")
	})
}

// reportLetters reports failed messages of one cause, one for each name.
func reportLetters(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: report SOURCE NAME...")
	}
	client, err := remote.Dial(ts.Getenv("TASKER_SERVER"), nil)
	ts.Check(err)
	defer func() { _ = client.Close() }() // only idle connections
	req := deadletters.ReportRequest{Source: args[0]}
	for _, name := range args[1:] {
		r := deadletters.NewReport("orders", []byte(`{"order":"`+name+`"}`), errors.New("card 4711 was declined"))
		r.MessageID, r.Failure.Type = name, "CardDeclined"
		req.Reports = append(req.Reports, r)
	}
	_, err = deadletters.Of(client).Report(context.Background(), req)
	ts.Check(err)
}
