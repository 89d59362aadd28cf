package amqp_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"redis://host":                         "must look like",
		"amqp:///vhost":                        "must look like",
		"amqp://user:p%zz@host":                "must look like",
		"amqp://user:secret @host":             "must look like",
		"amqp://host?%zz":                      "must look like",
		"amqp://host?hartbeat=1":               "a parameter that there is not",
		"amqp://host?cacertfile=x":             "cacertfile, which goes with amqps:// only",
		"amqp://host?heartbeat=-1":             "heartbeat in the URL",
		"amqp://host?channel_max=70000":        "channel_max in the URL",
		"amqp://host?auth_mechanism=kerberos":  "auth_mechanism in the URL",
		"amqps://u:secret@host?cacertfile=/no": "read the certificates",
	} {
		_, err := amqp.Parse(text, "prefetch")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	target, err := amqp.Parse("amqp://host/v?prefetch=7&heartbeat=0", "prefetch")
	if err != nil || target.Own.Get("prefetch") != "7" || len(target.Own) != 1 {
		t.Errorf("%v, %v", target, err)
	}
}

func dial(t *testing.T, text string) (*amqp.Conn, error) {
	t.Helper()
	target, err := amqp.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := target.Dial(t.Context(), "a test")
	if err == nil {
		t.Cleanup(func() { c.Shutdown(5 * time.Second) })
	}
	return c, err
}

func TestDial(t *testing.T) {
	text := rabbittest.Shared(t)
	c, err := dial(t, text+"?heartbeat=5&connection_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	if c.Config.Heartbeat != 5*time.Second || "/"+c.Config.Vhost != path(t, text) {
		t.Errorf("the connection has %+v", c.Config)
	}
	c.Shutdown(5 * time.Second)
	c.Shutdown(5 * time.Second)
	if !c.IsClosed() {
		t.Error("it is open after Shutdown")
	}
	for name, wrong := range map[string]string{
		"password": strings.Replace(text, "@", "x@", 1),
		"vhost":    text + "x",
	} {
		_, err := dial(t, wrong)
		var amqpErr *amqp091.Error
		if !errors.As(err, &amqpErr) {
			t.Errorf("with a wrong %s: %v", name, err)
		}
	}
}

func path(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

// A silent server holds up nobody.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, tail := range map[string]string{"amqp": "", "amqps": "?verify=verify_none"} {
		target, err := amqp.Parse(name + "://" + l.Addr().String() + "/" + tail)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := target.Dial(ctx, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func TestAwait(t *testing.T) {
	c, err := dial(t, rabbittest.Shared(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Await(t.Context(), func() error { return nil }); err != nil || c.IsClosed() {
		t.Errorf("a call without an error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	closed := c.NotifyClose(make(chan *amqp091.Error, 1))
	err = c.Await(ctx, func() error {
		cancel()
		return <-closed // like a call without an answer
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a call that did not return: %v", err)
	}
	if err := c.Await(ctx, func() error { t.Error("it was called"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestTLS(t *testing.T) {
	_, files := rabbittest.StartTLS(t, true)
	with := files.URL + "?cacertfile=" + files.CA
	client := "&certfile=" + files.Cert + "&keyfile=" + files.Key
	for name, c := range map[string]struct {
		url string
		ok  bool
	}{
		"Trusted":       {with + client, true},
		"OtherName":     {with + client + "&server_name_indication=localhost", true},
		"NoClient":      {with, false},
		"WrongName":     {with + client + "&server_name_indication=elsewhere", false},
		"Unknown":       {files.URL + "?" + client[1:], false},
		"NotVerified":   {files.URL + "?verify=verify_none" + client, true},
		"VerifyDefault": {with + "&verify=verify_peer" + client, true},
	} {
		conn, err := dial(t, c.url)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			conn.Shutdown(5 * time.Second)
		}
	}
}
