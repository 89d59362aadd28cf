package redis_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// kinds are both drivers, with access behind them.
var kinds = map[string]struct {
	open  driver.OpenFunc
	user  string
	queue func(testing.TB, *redistest.Server) string
	depth string // counts all that is in a queue
	// expire makes the server believe that the only receiver of a queue has been silent for long.
	expire func(testing.TB, *redistest.Server, string)
}{
	"List": {redis.OpenLists, "lists", func(t testing.TB, _ *redistest.Server) string { return newList(t) }, "LLEN",
		func(t testing.TB, s *redistest.Server, queue string) {
			for _, r := range must(t, s, "ZRANGE", "tasker:{"+queue+"}:receivers", "0", "-1").([]any) {
				must(t, s, "ZADD", "tasker:{"+queue+"}:receivers", "1000", r.(string))
			}
		}},
	"Stream": {redis.OpenStreams, "streams", newStream, "XLEN",
		func(t testing.TB, s *redistest.Server, queue string) {
			for _, p := range must(t, s, "XPENDING", queue, "tasker", "-", "+", "1000").([]any) {
				entry := p.([]any)
				must(t, s, "XCLAIM", queue, "tasker", entry[1].(string), "0", entry[0].(string), "IDLE", "4000000", "JUSTID")
			}
		}},
}

var (
	receiverOf = brokertest.Receiver
	receive    = brokertest.Receive
	send       = brokertest.Send
	payloads   = brokertest.Payloads
)

func numbered(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i] = driver.Message{Payload: fmt.Append(nil, i+1), SendID: fmt.Sprint("send ", i+1)}
	}
	return out
}

func positions(messages []driver.Message) (out []string) {
	for _, m := range messages {
		out = append(out, m.Position)
	}
	return out
}

// A slow or lost receiver loses its messages to another one, with their positions; its later calls neither take nor
// lose any.
func TestTakeover(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			queue := kind.queue(t, s)
			// A heartbeat every ten minutes: the test decides which receiver is alive.
			one := open(t, kind.open, as(t, s, kind.user, "gone=30m"))
			other := open(t, kind.open, as(t, s, kind.user, "gone=30m"))
			send(t, one, queue, numbered(6)...)
			slow := receiverOf(t, one, queue)
			held := receive(t, slow, 4)
			kind.expire(t, s, queue)
			quick := receiverOf(t, other, queue)
			taken := receive(t, quick, 6)
			if payloads(taken) != "1 2 3 4 5 6" {
				t.Fatalf("the other receiver received %s", payloads(taken))
			}
			if !slices.Equal(positions(taken[:4]), positions(held)) {
				t.Errorf("the positions are %q, and were %q", positions(taken[:4]), positions(held))
			}
			for i, m := range taken {
				if m.Redelivered != (i < 4) {
					t.Errorf("message %d: redelivered is %t", i+1, m.Redelivered)
				}
			}
			// The slow one has captured the first, gives the second back, and closes.
			if err := slow.Ack(t.Context(), held[:1]); err != nil {
				t.Fatal(err)
			}
			if err := slow.Release(t.Context(), held[1:2]); err != nil {
				t.Fatal(err)
			}
			if err := slow.Close(); err != nil {
				t.Fatal(err)
			}
			send(t, one, queue, driver.Message{Payload: []byte("7")})
			if got := receive(t, quick, 1); payloads(got) != "7" {
				t.Errorf("received %s: a message came twice to one receiver", payloads(got))
			}
			if err := quick.Ack(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A batch whose acknowledgement had no answer was captured: when it comes again, it must be recognised.
func TestPositionsSurviveALostAcknowledgement(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			queue := kind.queue(t, s)
			d := open(t, kind.open, as(t, s, kind.user, "timeout=2s"))
			send(t, d, queue, numbered(5)...)
			r := receiverOf(t, d, queue)
			first := receive(t, r, 5)
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := r.Ack(t.Context(), first[:3]); !errors.Is(err, driver.ErrLost) {
				t.Errorf("without a server Ack returns %v", err)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			again := receive(t, receiverOf(t, d, queue), 5)
			slices.SortFunc(again, func(a, b driver.Message) int { return bytes.Compare(a.Payload, b.Payload) })
			if !slices.Equal(positions(again[:3]), positions(first[:3])) || !again[0].Redelivered {
				t.Errorf("the positions are %q, and were %q", positions(again), positions(first))
			}
		})
	}
}

// A message is sent once under one ID, however often it is tried.
func TestSendingTwiceAddsOnce(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			d := open(t, kind.open, as(t, s, kind.user, "remember=1m")) // an hour is the least
			queue, other := kind.queue(t, s), kind.queue(t, s)
			send(t, d, queue, numbered(3)...)
			send(t, d, queue, numbered(5)...) // two of them are new
			send(t, d, other, numbered(1)...) // to another queue is another send
			send(t, d, queue, driver.Message{Payload: []byte("x")}, driver.Message{Payload: []byte("x")})
			if n := must(t, s, kind.depth, queue); n != int64(7) {
				t.Errorf("there are %v messages, want 7", n)
			}
			marks := "tasker:{" + queue + "}:sent"
			if ttl := must(t, s, "PTTL", marks).(int64); ttl < 3_500_000 || ttl > 3_600_000 {
				t.Errorf("the marks stay for %d ms", ttl)
			}
			for _, m := range must(t, s, "ZRANGE", marks, "0", "0").([]any) { // one is an hour old
				old := time.Now().Add(-61 * time.Minute).UnixMilli()
				must(t, s, "ZADD", marks, fmt.Sprint(old), m.(string))
			}
			send(t, d, queue, numbered(5)...)
			if n := must(t, s, kind.depth, queue); n != int64(8) {
				t.Errorf("there are %v messages, want 8: one mark is forgotten", n)
			}
		})
	}
}

// mute is a proxy that can drop the server's answers.
type mute struct {
	net.Listener
	server string
	on     atomic.Bool
}

// newMute starts one, and returns its URL.
func newMute(t *testing.T, through string) (*mute, string) {
	t.Helper()
	u, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{Listener: l, server: u.Host}
	u.Host = l.Addr().String()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { m.carry(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return m, u.String()
}

// carry copies both ways until one side ends. Instead of passing a dropped answer it ends the client's connection.
func (m *mute) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", m.server)
	if err != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	defer up.Wait()
	defer client.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || m.on.Load() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A send without an answer says whether a retry is safe, which adds nothing.
func TestSendWithoutAnswer(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			between, through := newMute(t, as(t, s, kind.user, ""))
			d, queue := open(t, kind.open, through), kind.queue(t, s)
			send(t, d, queue, driver.Message{Payload: []byte("first")}) // now the server knows the script
			messages := append(numbered(2), driver.Message{Payload: []byte("unmarked")})
			between.on.Store(true)
			errs := d.Send(t.Context(), queue, messages, driver.Limits{})
			between.on.Store(false)
			for i, err := range errs {
				if errors.Is(err, driver.ErrRepeatable) != (i < 2) || !errors.Is(err, driver.ErrUncertain) {
					t.Errorf("message %d has the error %v", i+1, err)
				}
			}
			if n := must(t, s, kind.depth, queue); n != int64(4) {
				t.Fatalf("there are %v messages, want 4: the test does not lose the answer only", n)
			}
			send(t, open(t, kind.open, through), queue, messages[:2]...)
			if n := must(t, s, kind.depth, queue); n != int64(4) {
				t.Errorf("there are %v messages, want 4", n)
			}
		})
	}
}

// A frozen or killed server leaves a send unknown; sent again under its ID it is there once.
func TestSendAgainAfterTrouble(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		for trouble, c := range map[string]struct{ begin, end func(*testing.T) }{
			"Paused": {func(t *testing.T) { must(t, s, "CLIENT", "PAUSE", "1500") }, func(*testing.T) {}},
			"Killed": {
				func(t *testing.T) {
					must(t, s, "SAVE")
					if err := s.Kill(); err != nil {
						t.Fatal(err)
					}
				},
				func(t *testing.T) {
					if err := s.Restart(); err != nil {
						t.Fatal(err)
					}
				}},
		} {
			t.Run(name+"/"+trouble, func(t *testing.T) {
				d, queue := open(t, kind.open, as(t, s, kind.user, "")), kind.queue(t, s)
				send(t, d, queue, driver.Message{Payload: []byte("first")})
				c.begin(t)
				for i, err := range d.Send(t.Context(), queue, numbered(3), driver.Limits{Each: 300 * time.Millisecond}) {
					if err == nil || driver.Permanent(err) || trouble == "Paused" && !errors.Is(err, driver.ErrRepeatable) {
						t.Errorf("message %d: %v", i+1, err)
					}
				}
				c.end(t)
				d = open(t, kind.open, as(t, s, kind.user, ""))
				send(t, d, queue, numbered(3)...)
				send(t, d, queue, numbered(3)...)
				if n := must(t, s, kind.depth, queue); n != int64(4) {
					t.Errorf("there are %v messages, want 4", n)
				}
			})
		}
	}
}

// A mark counts from the last try, for another hour.
func TestMarksAreRenewed(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			d, queue := open(t, kind.open, as(t, s, kind.user, "")), kind.queue(t, s)
			send(t, d, queue, numbered(1)...)
			marks := "tasker:{" + queue + "}:sent"
			mark := must(t, s, "ZRANGE", marks, "0", "0").([]any)[0].(string)
			must(t, s, "ZADD", marks, fmt.Sprint(time.Now().Add(-59*time.Minute).UnixMilli()), mark)
			must(t, s, "PEXPIRE", marks, "60000")
			send(t, d, queue, numbered(1)...)
			if n := must(t, s, "ZCOUNT", marks, fmt.Sprint(time.Now().Add(-time.Minute).UnixMilli()), "+inf"); n != int64(1) {
				t.Error("the mark is as old as the first try")
			}
			if ttl := must(t, s, "PTTL", marks).(int64); ttl < 3_500_000 {
				t.Errorf("the marks stay for %d ms", ttl)
			}
			if n := must(t, s, kind.depth, queue); n != int64(1) {
				t.Errorf("there are %v messages, want 1", n)
			}
		})
	}
}

// A take without an answer loses nothing: the messages come again when the receiver is closed.
func TestTakeWithoutAnswer(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			between, through := newMute(t, as(t, s, kind.user, ""))
			d, queue := open(t, kind.open, through), kind.queue(t, s)
			r := receiverOf(t, d, queue)
			send(t, d, queue, numbered(1)...)
			if got := receive(t, r, 1); payloads(got) != "1" {
				t.Fatalf("received %s", payloads(got))
			}
			send(t, d, queue, numbered(3)[1:]...)
			between.on.Store(true)
			if got, err := r.Receive(t.Context(), 10); !errors.Is(err, driver.ErrLost) {
				t.Fatalf("Receive returned %s, %v", payloads(got), err)
			}
			between.on.Store(false)
			if _, err := r.Receive(t.Context(), 10); !errors.Is(err, driver.ErrLost) {
				t.Fatalf("after a lost answer Receive returned %v: it would never return what it had taken", err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, receiverOf(t, d, queue), 3); payloads(got) != "1 2 3" {
				t.Errorf("received %s", payloads(got))
			}
		})
	}
}

// Every refusal of Redis is an error of each message, transient or not.
func TestRefusals(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			d := open(t, kind.open, as(t, s, kind.user, ""))
			queue := kind.queue(t, s)
			send(t, d, queue, numbered(1)...)
			must(t, s, "SET", "q:text", "a text")
			for what, c := range map[string]struct {
				target        string
				before, after []string
				want          error // nil: transient
				word          string
			}{
				"WrongType":    {target: "q:text", want: driver.ErrRefused, word: "WRONGTYPE"},
				"NoPermission": {target: "other", want: driver.ErrRefused, word: "NOPERM"},
				"OutOfMemory": {target: queue, word: "OOM", before: []string{"CONFIG", "SET", "maxmemory", "1"},
					after: []string{"CONFIG", "SET", "maxmemory", "0"}},
				"Replica": {target: queue, want: driver.ErrLost, word: "READONLY",
					before: []string{"REPLICAOF", "127.0.0.1", "1"}, after: []string{"REPLICAOF", "NO", "ONE"}},
			} {
				if c.before != nil {
					must(t, s, c.before...)
				}
				errs := d.Send(t.Context(), c.target, numbered(3)[1:], driver.Limits{})
				for _, err := range errs {
					if err == nil || !strings.Contains(err.Error(), c.word) || c.want != nil && !errors.Is(err, c.want) ||
						errors.Is(err, driver.ErrUncertain) || c.want != driver.ErrRefused && driver.Permanent(err) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if what == "OutOfMemory" { // capturing frees memory there
					r := receiverOf(t, d, queue)
					if err := r.Ack(t.Context(), receive(t, r, 1)); err != nil {
						t.Errorf("a server without memory does not let us receive: %v", err)
					}
				}
				if c.after != nil {
					must(t, s, c.after...)
				}
			}
			if errs := d.Send(t.Context(), queue, numbered(3)[1:], driver.Limits{}); errs[0] != nil || errs[1] != nil {
				t.Errorf("what was refused left a mark: %v", errs)
			}
			if _, err := d.Open(t.Context(), "q:text"); !errors.Is(err, driver.ErrRefused) {
				t.Errorf("a text is opened: %v", err)
			}
			if _, err := d.Open(t.Context(), "other"); !errors.Is(err, driver.ErrRefused) {
				t.Errorf("a forbidden key is opened: %v", err)
			}
		})
	}
}

// A stream is read again after its server lost everything.
func TestFlush(t *testing.T) {
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			d := open(t, kind.open, as(t, s, kind.user, ""))
			queue := kind.queue(t, s)
			send(t, d, queue, numbered(2)...)
			r := receiverOf(t, d, queue)
			held := receive(t, r, 1)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := r.Ack(t.Context(), held); err != nil && !errors.Is(err, driver.ErrLost) {
				t.Errorf("Ack after everything was lost: %v", err)
			}
			_ = r.Close()
			if kind.depth == "XLEN" {
				must(t, s, "XADD", queue, "*", "payload", "new")
			} else {
				must(t, s, "RPUSH", queue, "new")
			}
			if got := receive(t, receiverOf(t, d, queue), 1); payloads(got) != "new" {
				t.Errorf("received %s", payloads(got))
			}
		})
	}
}

// An entry keeps its fields on the way through a message and back.
func TestFieldsOfEntries(t *testing.T) {
	s := server(t)
	queue, target := newStream(t, s), newStream(t, s)
	entries := [][]string{
		{"camera", "front", "file", "x.jpg"},
		{"payload", "p", "key", "k", "message_id", "m", "h", "v"},
		{"payload", "p", "payload", "q", "key", "", "key", "k2"},
		{"header.key", "v", "header.header.payload", "w", "header.x", "y", "h", "", "h", "2"},
		{"payload", "", "h", "v"}, {"payload", ""}, {"h", "v", "message_id", "", "payload", "p", "message_id", "m"},
		{"redis-fields", "mine", "redis-header-redis-fields", "too", "redis-header-x", "y"},
	}
	for _, e := range entries {
		must(t, s, append([]string{"XADD", queue, "*"}, e...)...)
	}
	d := open(t, redis.OpenStreams, as(t, s, "streams", ""))
	got := receive(t, receiverOf(t, d, queue), len(entries))
	if m := got[0]; len(m.Payload) != 0 || len(m.Headers) != 2 || m.Headers[1].Name != "file" ||
		string(m.Headers[1].Value) != "x.jpg" {
		t.Errorf("an entry without a payload is %+v", m)
	}
	if m := got[1]; string(m.Payload) != "p" || string(m.Key) != "k" || m.MessageID != "m" || len(m.Headers) != 1 {
		t.Errorf("an entry with everything is %+v", m)
	}
	send(t, d, target, got...)
	for i, entry := range must(t, s, "XRANGE", target, "-", "+").([]any) {
		fields, want := fmt.Sprint(entry.([]any)[1]), fmt.Sprint(entries[i])
		if fields != want {
			t.Errorf("entry %d is %s, and was %s", i, fields, want)
		}
	}
}

// A wrong parameter is refused without showing the URL.
func TestParameters(t *testing.T) {
	t.Parallel()
	for kind, list := range map[string][]string{
		"List": {"head=top", "head=", "gone=1ms", "gone=2h", "gone=soon", "remember=1s", "remember=200h", "group=x",
			"hunter2=1", "timeout=0"},
		"Stream": {"head=left", "group=", "group=" + strings.Repeat("x", 256), "payload=", "acknowledged=maybe",
			"missing=yes"},
	} {
		for _, p := range list {
			d, err := kinds[kind].open(t.Context(), "redis://:hunter2@127.0.0.1:1/?"+p)
			if err == nil {
				_ = d.Close()
				t.Errorf("%s: %s is accepted", kind, p)
			} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "connect") {
				t.Errorf("%s: %s: %v", kind, p, err)
			}
		}
	}
}
