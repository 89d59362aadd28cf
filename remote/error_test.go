package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		header [2]string
		body   string
		want   tasker.Error
	}{
		"Full": {422, [2]string{},
			`{"type":"about:blank","title":"Unprocessable","status":422,"detail":"task is invalid","code":"invalid","hint":"fix it","errors":[{"location":"/tasks/0/context","message":"must be an object"}]}`,
			tasker.Error{Code: tasker.CodeInvalid, Message: "task is invalid", Hint: "fix it",
				Details: []tasker.Detail{{Location: "/tasks/0/context", Message: "must be an object"}}}},
		"CodeWins": {409, [2]string{}, `{"detail":"d","code":"stale_token"}`,
			tasker.Error{Code: tasker.CodeStaleToken, Message: "d"}},
		"TitleOnly": {404, [2]string{}, `{"title":"Not Found"}`,
			tasker.Error{Code: tasker.CodeNotFound, Message: "Not Found"}},
		"NoBody": {403, [2]string{}, ``, tasker.Error{Code: tasker.CodeForbidden,
			Message: "the server answers 403 Forbidden"}},
		"ProxyPage": {502, [2]string{}, `<html>`,
			tasker.Error{Code: tasker.CodeUnavailable, Message: "the server answers 502 Bad Gateway"}},
		"Seconds": {429, [2]string{"Retry-After", "7"}, `{"detail":"d"}`,
			tasker.Error{Code: tasker.CodeExhausted, Message: "d", RetryAfter: 7 * time.Second}},
		"Nonsense": {503, [2]string{"Retry-After", "soon"}, `{"detail":"d"}`,
			tasker.Error{Code: tasker.CodeUnavailable, Message: "d"}},
		"Negative": {503, [2]string{"Retry-After", "-7"}, `{"detail":"d"}`,
			tasker.Error{Code: tasker.CodeUnavailable, Message: "d"}},
		"Redirect": {307, [2]string{"Location", "http://other/"}, ``,
			tasker.Error{Code: tasker.CodeInternal, Message: "the server answers 307 Temporary Redirect to http://other/",
				Hint: "redirects are not followed; use the address it names"}},
		"Status400": {400, [2]string{}, `{"detail":"d"}`, tasker.Error{Code: tasker.CodeInvalid, Message: "d"}},
		"Status401": {401, [2]string{}, `{"detail":"d"}`, tasker.Error{Code: tasker.CodeUnauthenticated, Message: "d"}},
		"Status409": {409, [2]string{}, `{"detail":"d"}`, tasker.Error{Code: tasker.CodeConflict, Message: "d"}},
		"Status413": {413, [2]string{}, `{"detail":"d"}`, tasker.Error{Code: tasker.CodeTooLarge, Message: "d"}},
		"Status500": {500, [2]string{}, `{"detail":"d"}`, tasker.Error{Code: tasker.CodeInternal, Message: "d"}},
		"OddDocument": {400, [2]string{}, `[1]`, tasker.Error{Code: tasker.CodeInvalid,
			Message: "the server answers 400 Bad Request"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			client := dial(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				if tc.header[0] != "" {
					w.Header().Set(tc.header[0], tc.header[1])
				}
				reply(w, tc.status, tc.body)
			}, nil)
			_, err := client.Task(t.Context(), uuid.New(), 0)
			var got *tasker.Error
			if !errors.As(err, &got) {
				t.Fatalf("error %v is no *Error", err)
			}
			if got.Error() != tc.want.Error() || got.Code != tc.want.Code || got.RetryAfter != tc.want.RetryAfter {
				t.Errorf("error\n got %+v\nwant %+v", got, tc.want)
			}
			if !errors.Is(err, &tasker.Error{Code: tc.want.Code}) {
				t.Error("errors.Is does not see the code")
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times; an answer is not asked for again", asked.Load())
			}
		})
	}
}

func TestRetryAfterDate(t *testing.T) {
	t.Parallel()
	client := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		reply(w, http.StatusServiceUnavailable, `{}`)
	}, nil)
	_, err := protocol.Of(client).Workers(t.Context())
	var got *tasker.Error
	if !errors.As(err, &got) || got.RetryAfter < 58*time.Minute || got.RetryAfter > time.Hour {
		t.Errorf("error %+v, want RetryAfter of about an hour", got)
	}
}

func TestNotATaskerServer(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	for name, tc := range map[string]struct {
		kind, body string
		want       tasker.Code
	}{
		"HTML":       {"text/html", "<html>", tasker.CodeInternal},
		"BrokenJSON": {"application/json", `{"name":`, tasker.CodeInternal},
		"OtherJSON":  {"application/json", `{"name":5}`, tasker.CodeInternal},
		"TooLong":    {"application/json", `{"name":"` + strings.Repeat("x", 1000) + `"}`, tasker.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, chunked := range []bool{false, true} {
				client := dial(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tc.kind)
					if chunked {
						w.(http.Flusher).Flush()
					}
					io.WriteString(w, tc.body)
				}, &remote.Options{MaxResponseBytes: 500})
				if _, err := client.Task(t.Context(), id, 0); tasker.ErrorCode(err) != tc.want {
					t.Errorf("error %v, want %s", err, tc.want)
				}
			}
		})
	}
}

func TestTooFewAnswers(t *testing.T) {
	t.Parallel()
	client := dial(t, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, `{"results":[],"leases":[]}`)
	}, nil)
	ctx, ref := t.Context(), protocol.LeaseRef{}
	for name, call := range map[string]func() error{
		"Submit": func() error { _, err := client.Submit(ctx, tasker.TaskRequest{}); return err },
		"Cancel": func() error {
			_, err := client.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{{}}})
			return err
		},
		"Start": func() error {
			_, err := protocol.Of(client).Start(ctx, protocol.StartRequest{Steps: []protocol.LeaseRef{ref}})
			return err
		},
		"Settle": func() error {
			_, err := protocol.Of(client).Settle(ctx, protocol.SettleRequest{Results: []protocol.StepResult{{}}})
			return err
		},
	} {
		if err := call(); tasker.ErrorCode(err) != tasker.CodeInternal {
			t.Errorf("%s: %v, want CodeInternal", name, err)
		}
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	client, err := remote.Dial(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Submit(t.Context(), tasker.TaskRequest{TaskType: "x"})
	var got *tasker.Error
	if !errors.As(err, &got) || got.Code != tasker.CodeUnavailable || got.Hint == "" ||
		!strings.Contains(got.Message, address) {
		t.Fatalf("error %+v, want CodeUnavailable that names %s and has a hint", err, address)
	}
	var network *net.OpError
	if !errors.As(err, &network) {
		t.Error("the cause cannot be reached")
	}
}

func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	client := dial(t, func(http.ResponseWriter, *http.Request) {
		<-hold
	}, &remote.Options{RequestTimeout: 20 * time.Millisecond})
	defer close(hold)
	if _, err := protocol.Of(client).Workers(t.Context()); tasker.ErrorCode(err) != tasker.CodeUnavailable {
		t.Errorf("error %v, want CodeUnavailable: the caller did not end it", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := protocol.Of(client).Workers(ctx); !errors.Is(err, context.DeadlineExceeded) ||
		tasker.ErrorCode(err) == tasker.CodeUnavailable {
		t.Errorf("error %v, want the caller's own deadline", err)
	}
}

// TestBrokenConnection: reads are tried once more, writes are not.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		call func(context.Context, *tasker.Client) error
		code tasker.Code
		most int64
	}{
		"Get": {func(ctx context.Context,
			c *tasker.Client) error {
			_, err := protocol.Of(c).Workers(ctx)
			return err
		}, "", 2},
		"Post": {func(ctx context.Context, c *tasker.Client) error {
			_, err := c.Submit(ctx, tasker.TaskRequest{})
			return err
		}, tasker.CodeUnavailable, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			client := dial(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					panic(http.ErrAbortHandler)
				}
				reply(w, http.StatusOK, `{"workers":[],"results":[{}]}`)
			}, nil)
			if err := tc.call(t.Context(), client); tasker.ErrorCode(err) != tc.code {
				t.Errorf("error %v, want code %q", err, tc.code)
			}
			if asked.Load() != tc.most {
				t.Errorf("asked %d times, want %d", asked.Load(), tc.most)
			}
		})
	}
}

// TestKeyStaysHome: no redirect carries the key to another host, not even with a client that would follow it.
func TestKeyStaysHome(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the redirect was followed")
	}))
	defer other.Close()
	client := dial(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	},
		&remote.Options{APIKey: "secret", HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if _, err := protocol.Of(client).Workers(t.Context()); tasker.ErrorCode(err) != tasker.CodeInternal {
		t.Errorf("error %v, want CodeInternal", err)
	}
}

func TestUnmarshallableTask(t *testing.T) {
	t.Parallel()
	client := dial(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") }, nil)
	_, err := client.Submit(t.Context(), tasker.TaskRequest{TaskType: "x", Context: []byte("{")})
	if tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("error %v, want CodeInvalid", err)
	}
}
