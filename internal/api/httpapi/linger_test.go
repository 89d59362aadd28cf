package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
)

func dialRaw(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestAnswerBeforeTheBody announces a body and sends three bytes. Answers that do not depend on the body arrive anyway,
// and the connection ends.
func TestAnswerBeforeTheBody(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "submit")
	url, _ := listening(t, httpapi.New(&fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})}))
	const asJSON = "Content-Type: application/json\r\n"
	for name, c := range map[string]struct {
		line, headers string
		status        int
	}{
		"NoKey":        {"POST /v1/tasks", asJSON + "Content-Length: 2000\r\n", 401},
		"NoKeyChunked": {"POST /v1/tasks", asJSON + "Transfer-Encoding: chunked\r\n", 401},
		"NoPermission": {"POST /v1/templates", asJSON + key + "\r\nContent-Length: 2000\r\n", 403},
		"NoRoute":      {"POST /v1/nothing", asJSON + "Content-Length: 2000\r\n", 404},
		"NoMethod":     {"PATCH /v1/tasks", asJSON + "Content-Length: 2000\r\n", 405},
		"TooLarge":     {"POST /v1/tasks", asJSON + key + "\r\nContent-Length: 20000000\r\n", 413},
		"NotJSON":      {"POST /v1/tasks", "Content-Type: text/plain\r\n" + key + "\r\nContent-Length: 2000\r\n", 415},
		"Unasked":      {"GET /health/live", "Content-Length: 2000\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dialRaw(t, url)
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n{\"a", c.line, c.headers)
			in := bufio.NewReader(conn)
			got, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			body, _ := io.ReadAll(got.Body)
			if got.StatusCode != c.status || !got.Close {
				t.Errorf("answer is %d %s, the connection closes: %v", got.StatusCode, body, got.Close)
			}
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("the connection goes on after the answer: %v", err)
			}
		})
	}
}

// TestLingeringClose sends a body that is too large and reads afterwards, as many clients do: it must get the 413, not
// a broken pipe.
func TestLingeringClose(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "submit")
	url, _ := listening(t, httpapi.New(&fake{}, httpapi.Options{Front: web.New(web.Options{Keys: ring})}))
	const size = 20 << 20
	for name, headers := range map[string]string{
		"Announced": fmt.Sprintf("Content-Length: %d\r\n", size),
		"Chunked":   "Transfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dialRaw(t, url)
			fmt.Fprintf(conn, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n%s\r\n",
				key, headers)
			if name == "Chunked" {
				fmt.Fprintf(conn, "%x\r\n", size)
			}
			if n, err := conn.Write(make([]byte, size)); err != nil {
				t.Fatalf("after %d bytes: %v", n, err)
			}
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			if got.StatusCode != 413 {
				t.Errorf("answer is %d", got.StatusCode)
			}
		})
	}
}

func TestBodiesTogether(t *testing.T) {
	t.Parallel()
	s := serve(t,
		httpapi.New(&fake{}, httpapi.Options{Limits: httpapi.Limits{BodyBytes: 1 << 20, BatchBodyBytes: 1 << 20},
			Front: web.New(web.Options{BodiesBytes: 1 << 20})}), time.Minute)
	slow := dialRaw(t, s.url)
	fmt.Fprintf(slow, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+
		"%d\r\n\r\n", 1<<20)
	body := []byte(`{"name":"x"}` + strings.Repeat(" ", 1<<20-12))
	if _, err := slow.Write(body[:1<<20-1]); err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for range 4000 { // wait until the server has it all
		got := <-s.send(t, "/v1/tasks", `{"name":"x"}`)
		if got.status == 503 {
			if got.header.Get("Retry-After") == "" {
				t.Error("the refusal names no Retry-After")
			}
			if _, err := slow.Write(body[1<<20-1:]); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(slow), nil)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != 201 {
				t.Errorf("the body that was first is answered %d", answer.StatusCode)
			}
			if got := <-s.send(t, "/v1/tasks", `{"name":"x"}`); got.status != 201 {
				t.Errorf("the place is not given back: %d", got.status)
			}
			return
		}
		<-again.C
	}
	t.Error("a body beyond the limit is accepted")
}

func TestLimitConnections(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := web.LimitConnections(ln, 2)
	serveOn(t, limited, httpapi.New(&fake{}, httpapi.Options{}))
	url := "http://" + ln.Addr().String()
	ask := func(conn net.Conn) (*http.Response, error) {
		fmt.Fprint(conn, "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil {
			_ = answer.Body.Close()
		}
		return answer, err
	}
	first, second := dialRaw(t, url), dialRaw(t, url)
	for _, conn := range []net.Conn{first, second} {
		if got, err := ask(conn); err != nil || got.StatusCode != 200 {
			t.Fatalf("answer is %v %v", got, err)
		}
	}
	if got, err := ask(dialRaw(t, url)); err != nil || got.StatusCode != 503 || got.Header.Get("Retry-After") == "" ||
		!got.Close {
		t.Fatalf("one too many is answered %v %v", got, err)
	}
	_ = first.Close()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for range 4000 { // wait until the server notices
		if got, err := ask(dialRaw(t, url)); err == nil && got.StatusCode == 200 {
			return
		}
		<-again.C
	}
	t.Error("a closed connection keeps its place")
}
