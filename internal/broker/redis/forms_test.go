package redis_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// thereAndBack sends messages through a URL, and takes them.
func thereAndBack(t *testing.T, f driver.OpenFunc, url, queue string) {
	t.Helper()
	d := open(t, f, url)
	send(t, d, queue, numbered(5)...)
	send(t, d, queue, numbered(5)...)
	r := receiverOf(t, d, queue)
	got := receive(t, r, 5)
	if payloads(got) != "1 2 3 4 5" {
		t.Errorf("received %s", payloads(got))
	}
	if err := r.Ack(t.Context(), got); err != nil {
		t.Error(err)
	}
	if exists, depth, err := d.Stat(t.Context(), queue); err != nil || !exists || depth != 0 {
		t.Errorf("%v: afterwards there are %d messages", err, depth)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s, through, ca := redistest.StartTLS(t)
	for name, kind := range kinds {
		thereAndBack(t, kind.open, through+"?ca="+url.QueryEscape(ca), kind.queue(t, s))
		thereAndBack(t, kind.open, through+"?skip_verify=true", kind.queue(t, s))
		for what, parameters := range map[string]string{"unknown certificate": "", "missing file": "?ca=/no/such/file"} {
			if d, err := kind.open(t.Context(), through+parameters); err == nil {
				_ = d.Close()
				t.Errorf("%s: a server with a %s is trusted", name, what)
			}
		}
	}
}

// In a cluster all keys of a queue are on its node, whatever its name.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := redistest.StartCluster(t, "user=lists "+listACL+" +cluster|slots", "user=streams "+streamACL+" +cluster|slots")
	for name, kind := range kinds {
		for _, form := range []string{"%s", "%s:dead:letters", "q:{app}:%s"} {
			queue := fmt.Sprintf(form, newList(t))
			if kind.depth == "XLEN" {
				must(t, s, "XGROUP", "CREATE", queue, "other", "$", "MKSTREAM")
			}
			user := as(t, s, kind.user, "")
			if form != "%s" { // the permissions of the users are for names that begin with q: in braces
				user = s.URL()
			}
			thereAndBack(t, kind.open, user, queue)
		}
		d := open(t, kind.open, s.URL())
		for _, queue := range []string{"q:{}:x", "q}:x", "{}"} { // no other name is in the slot of these
			if errs := d.Send(t.Context(), queue, numbered(1), driver.Limits{}); !errors.Is(errs[0], driver.ErrRefused) {
				t.Errorf("%s: a send to %s is answered %v", name, queue, errs[0])
			}
			if _, err := d.Open(t.Context(), queue); err == nil {
				t.Errorf("%s: %s is opened", name, queue)
			}
		}
	}
}

// After a failover the same URL leads to the new master, with all its data.
func TestSentinel(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes seconds")
	}
	t.Parallel()
	users := []string{"user=sentinel on >secret ~* &* +@all", "user=lists " + listACL + " +role",
		"user=streams " + streamACL + " +role"}
	watched := append(users, "masteruser=sentinel", "masterauth=secret", "repl-diskless-sync-delay=0")
	master := redistest.Start(t, watched...)
	replica := redistest.Start(t, append(watched, fmt.Sprintf("replicaof=127.0.0.1 %d", master.Port()))...)
	watch := redistest.StartSentinel(t, master, "sentinel", "secret")
	u, err := url.Parse(watch.URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	through := func(user string) string {
		return as(t, watch, user, "master_set=main&gone=1s&sentinel_password="+password)
	}
	await.Until(t, "the Sentinel to know the replica", func() bool {
		answer, err := redistest.Do(watch.URL(), "SENTINEL", "REPLICAS", "main")
		list, _ := answer.([]any)
		return err == nil && len(list) == 1 && strings.Contains(fmt.Sprint(list), "master-link-status ok")
	})
	held := map[string]string{}
	var old []driver.Driver
	for name, kind := range kinds {
		held[name] = kind.queue(t, master)
		d := open(t, kind.open, through(kind.user))
		old = append(old, d)
		send(t, d, held[name], numbered(5)...)
		r := receiverOf(t, d, held[name])
		if err := r.Ack(t.Context(), receive(t, r, 3)[:2]); err != nil {
			t.Fatal(err)
		}
	}
	must(t, master, "WAIT", "1", "5000")
	if err := master.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, d := range old { // else its receiver follows to the new master, and may keep the third message by its beats
		_ = d.Close()
	}
	await.Until(t, "the replica to become the master", func() bool {
		answer, err := redistest.Do(replica.URL(), "ROLE")
		return err == nil && strings.HasPrefix(fmt.Sprint(answer), "[master")
	})
	for name, kind := range kinds {
		var d driver.Driver
		await.Until(t, "the Sentinel to say so", func() bool {
			var err error
			d, err = kind.open(t.Context(), through(kind.user))
			return err == nil
		})
		t.Cleanup(func() { _ = d.Close() })
		send(t, d, held[name], numbered(6)...) // five of them are known to the replica
		if got := receive(t, receiverOf(t, d, held[name]), 4); payloads(got) != "3 4 5 6" {
			t.Errorf("%s: after the failover it has %s", name, payloads(got))
		}
	}
}
