package redis_test

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"NoURL":         "",
		"OtherScheme":   "http://:hunter2@localhost:6379",
		"NoHost":        "redis:///0",
		"PasswordParts": "redis://:hunter2/x@localhost:6379",
		"BadPort":       "redis://:hunter2@localhost:port",
		"BadDatabase":   "redis://:hunter2@localhost:6379/hunter2",
		"BadPrefix":     "redis://:hunter2@localhost:6379?prefix={a}",
		"EmptyPrefix":   "redis://:hunter2@localhost:6379?prefix=",
		"BadTimeout":    "redis://:hunter2@localhost:6379?timeout=soon",
		"LongTimeout":   "redis://:hunter2@localhost:6379?timeout=1h",
		"Unknown":       "redis://:hunter2@localhost:6379?password=hunter2",
		"BadEscape":     "redis://:hunter2%@localhost:6379",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := redis.Open(t.Context(), text, nil)
			if err == nil {
				d.Close()
				t.Fatal("it was opened")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
		})
	}
	t.Run("BadPrefixOption", func(t *testing.T) {
		t.Parallel()
		if _, err := redis.Open(t.Context(), "redis://localhost:1", &redis.Options{Prefix: "a b"}); err == nil {
			t.Error("it was opened")
		}
	})
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(redistest.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	for name, user := range map[string]*url.Userinfo{"Wrong": url.UserPassword("", "hunter2"), "None": nil} {
		u.User = user
		d, err := redis.Open(t.Context(), u.String(), nil)
		if err == nil {
			d.Close()
			t.Errorf("%s: it was opened", name)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is in %q", name, err)
		}
	}
}

// The prefix comes from the URL, else from the options.
func TestPrefix(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = "prefix=mine"
	fill(t, open(t, u.String(), "other"))
	fill(t, open(t, s.URL(), "other"))
	fill(t, open(t, s.URL(), ""))
	c := client(t, s.URL())
	keys, err := c.Do(t.Context(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if !strings.HasPrefix(k, "{mine}:") && !strings.HasPrefix(k, "{other}:") && !strings.HasPrefix(k, "{tasker}:") {
			t.Errorf("key %q", k)
		}
	}
	if len(keys) != 3 {
		t.Errorf("keys %q, want the epochs of three installations", keys)
	}
}

func fill(t testing.TB, d engine.Dispatcher) {
	t.Helper()
	if mine, err := d.Reload(t.Context(), time.Minute); err != nil || !mine {
		t.Fatalf("Reload: %t, %v", mine, err)
	}
	if err := d.Loaded(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestServerComesLater(t *testing.T) {
	t.Parallel()
	s := own{redistest.Start(t)}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	d := s.Open(t)
	if err := d.Check(t.Context()); err == nil || errors.Is(err, engine.ErrDispatchLost) {
		t.Fatalf("Check: %v, want that it is out of reach", err)
	}
	s.Restart(t)
	await.Until(t, "the server answers", func() bool {
		return errors.Is(d.Check(t.Context()), engine.ErrDispatchLost)
	})
	fill(t, d)
}

// A silent server costs a call only its time-out.
func TestStalled(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	began := time.Now()
	d := open(t, "redis://"+l.Addr().String()+"?timeout=50ms", "")
	for range 3 {
		if _, err := d.Claim(t.Context(), []engine.Claim{{Capacity: 1, Routes: []int64{1}}}, now); err == nil ||
			errors.Is(err, engine.ErrDispatchLost) {
			t.Errorf("Claim: %v, want that it is out of reach", err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	d := shared(t).Open(t)
	d.Close()
	d.Close()
	if err := d.Check(t.Context()); err == nil || errors.Is(err, engine.ErrDispatchLost) {
		t.Errorf("Check: %v, want that it is closed", err)
	}
	if err := d.Listen(t.Context(), nil); err == nil {
		t.Error("Listen: no error")
	}
}
