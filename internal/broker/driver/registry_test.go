package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                  "",
		"redis://localhost:6379/0":          "redis://localhost:6379/0",
		"redis://:pass@localhost:6379/0":    "redis://***@localhost:6379/0",
		"amqp://user:p%2Fw@host/vhost":      "amqp://***@host/vhost",
		"amqps://token@host":                "amqps://***@host",
		"kafka://a:1,b:2?sasl_password=pwd": "kafka://a:1,b:2?***",
		"kafka://host?sasl_password=pwd":    "kafka://host?***",
		"amqp://user:p%zz@host/":            "amqp://***",
		"amqp://user:p@ss:w@host/":          "amqp://***@host/",
		"user:pass@host":                    "***",
		"opaque:user:pass":                  "***",
	} {
		if got := driver.Redact(url); got != want {
			t.Errorf("%q is shown as %q, want %q", url, got, want)
		}
	}
}

// leaky puts its URL into every error.
type leaky struct {
	driver.Basic
	driver.BasicReceiver
	err error
}

func (l leaky) Open(context.Context, string) (driver.Receiver, error) { return l, nil }
func (l leaky) Send(_ context.Context, _ string, m []driver.Message, _ driver.Limits) []error {
	return driver.Fail(len(m), l.err)
}
func (l leaky) Stat(context.Context, string) (bool, int64, error)           { return false, 0, l.err }
func (l leaky) Close() error                                                { return l.err }
func (l leaky) Receive(context.Context, int) ([]driver.Message, error)      { return nil, l.err }
func (l leaky) Ack(context.Context, []driver.Message) error                 { return l.err }
func (l leaky) Release(context.Context, []driver.Message) error             { return l.err }
func (l leaky) Peek(context.Context, string, int) ([]driver.Message, error) { return nil, l.err }

func TestNoErrorShowsASecret(t *testing.T) {
	t.Parallel()
	const url = "amqp://user:hunter%2F2@host/vhost?token=abcdef"
	text := "dial " + url + ": login as user with hunter/2 (hunter%2F2), token abcdef"
	open := func(context.Context, string) (driver.Driver, error) {
		return leaky{err: fmt.Errorf("%s: %w", text, driver.ErrLost)}, nil
	}
	registry := driver.Registry{"leaky": open, "broken": func(context.Context, string) (driver.Driver, error) {
		return nil, errors.New(text)
	}}
	check := func(err error) {
		t.Helper()
		if err == nil {
			t.Fatal("there is no error")
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, secret := range []string{"hunter", "abcdef", "user:"} {
				if strings.Contains(e.Error(), secret) {
					t.Errorf("%q shows %s", e, secret)
				}
			}
		}
	}
	_, err := registry.Open(t.Context(), "broken", url)
	check(err)
	d, err := registry.Open(t.Context(), "leaky", url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Open(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	ctx, some := t.Context(), make([]driver.Message, 1)
	check(d.Send(ctx, "q", some, driver.Limits{})[0])
	_, _, err = d.Stat(ctx, "q")
	check(err)
	if !errors.Is(err, driver.ErrLost) {
		t.Errorf("%v is not ErrLost any more", err)
	}
	_, err = r.Receive(ctx, 1)
	check(err)
	_, err = d.Peek(ctx, "q", 1)
	check(err)
	check(r.Ack(ctx, some))
	check(r.Release(ctx, some))
	check(r.Close())
	check(d.Close())
}

func TestUnknownDriver(t *testing.T) {
	t.Parallel()
	_, err := driver.Registry{"b": nil, "a": nil}.Open(t.Context(), "c", "c://user:secret@host")
	if err == nil || err.Error() != `unknown driver "c": use one of a, b` {
		t.Fatal(err)
	}
}
