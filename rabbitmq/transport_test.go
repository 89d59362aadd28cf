package rabbitmq_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
	"github.com/taskerhq/tasker/rabbitmq"
)

func TestReceive(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	b := connect(t, url)
	r := b.receive(url, 3, rabbitmq.Options{})
	b.send(b.message("ack"), b.message("release"), b.message("reject"), b.message("beyond the prefetch"))

	acked, released, rejected := r.next("ack"), r.next("release"), r.next("reject")
	if string(acked.Assignment.Parameters) != `{"n":1}` || acked.Assignment.Handler != "h" {
		t.Errorf("received %+v, want the assignment as it was sent", acked.Assignment)
	}
	await.Until(t, "the last message is ready", func() bool { return b.waiting(b.queue) == 1 })
	r.nothing()
	// Out of order, and twice: the first answer counts.
	rejected.Reject()
	await.Until(t, "the rejected message is a dead letter", func() bool { return b.waiting(b.queue+".dead") == 1 })
	r.next("beyond the prefetch").Ack()
	acked.Ack()
	acked.Release()
	released.Release()
	again := r.next("release")
	again.Ack()
	r.leaves(b, 0)
}

// A foreign message becomes a dead letter, and the rest continues.
func TestReceiveRejects(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	b := connect(t, url)
	r := b.receive(url, 2, rabbitmq.Options{})
	for name, change := range map[string]func(*amqp091.Publishing){
		"NoJSON":        func(m *amqp091.Publishing) { m.Body = []byte(`{"step_uuid":`) },
		"NoStep":        func(m *amqp091.Publishing) { m.Body = []byte(`{"token":"1"}`) },
		"NoToken":       func(m *amqp091.Publishing) { m.Body = []byte(`{"step_uuid":"0190a6a0-0000-7000-8000-000000000000"}`) },
		"AnotherType":   func(m *amqp091.Publishing) { m.Type = "order" },
		"AnotherWorker": func(m *amqp091.Publishing) { m.Headers["tasker-worker"] = "someone" },
		"NoHeaders":     func(m *amqp091.Publishing) { m.Headers = nil },
	} {
		t.Run(name, func(t *testing.T) {
			dead := b.waiting(b.queue + ".dead")
			m := b.message("1")
			change(&m)
			b.send(m)
			await.Until(t, "it is a dead letter", func() bool { return b.waiting(b.queue+".dead") == dead+1 })
		})
	}
	b.send(b.message("good"))
	r.next("good").Ack()
}

// After the end of ctx no more messages are taken, and those in hand keep their answers.
func TestReceiveLeaves(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	b := connect(t, url)
	r := b.receive(url, 2, rabbitmq.Options{})
	b.send(b.message("1"), b.message("2"))
	first, second := r.next("1"), r.next("2")
	r.stop()
	await.Until(t, "the consumer is gone", func() bool { return consumers(b) == 0 })
	b.send(b.message("3"))
	first.Ack()
	select {
	case <-r.ended:
		t.Error("Receive returned before the last answer")
	default:
	}
	second.Release()
	r.wait()
	r.nothing()
	if n := b.waiting(b.queue); n != 2 {
		t.Errorf("%d messages wait, want the released one and the one that came later", n)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	url := rabbittest.Shared(t)
	quiet := slog.New(slog.DiscardHandler)
	if err := rabbitmq.NewTransport(url, rabbitmq.Options{}).Check(t.Context(), quiet); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		url  string
		want tasker.Code
	}{
		"WrongPassword": {withPassword(t, url, "s3cret"), tasker.CodeForbidden},
		"NoVhost":       {url + "_s3cret_not", tasker.CodeForbidden},
		"NotAURL":       {"amqp://user:s3cret@host:port:port/%zz", tasker.CodeInvalid},
		"AnotherScheme": {"http://user:s3cret@host/", tasker.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := rabbitmq.NewTransport(tc.url, rabbitmq.Options{}).Check(t.Context(), quiet)
			if tasker.ErrorCode(err) != tc.want {
				t.Errorf("Check = %v, want %s", err, tc.want)
			}
			if name != "NoVhost" && strings.Contains(fmt.Sprint(err), "s3cret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
	t.Run("NobodyThere", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		log := &lockedBuffer{}
		failed := make(chan error)
		go func() {
			tr := rabbitmq.NewTransport("amqp://user:s3cret@127.0.0.1:1/", rabbitmq.Options{})
			failed <- tr.Check(ctx, slog.New(slog.NewTextHandler(log, nil)))
		}()
		await.Until(t, "Check tries again", func() bool { return strings.Count(log.String(), "refused") >= 2 })
		cancel()
		if err := <-failed; err == nil || strings.Contains(log.String(), "s3cret") {
			t.Errorf("Check = %v and logs %s, want an error without the password", err, log)
		}
	})
}

func TestLeastPermissions(t *testing.T) {
	t.Parallel()
	admin := rabbittest.Shared(t)
	b := connect(t, admin)
	url := rabbittest.NewUser(t, admin, "^$", "^$", `^worker\..*\.executions$`)
	r := b.receive(url, 1, rabbitmq.Options{})
	b.send(b.message("1"), b.message("2"))
	r.next("1").Ack()
	r.next("2").Reject()
	await.Until(t, "the rejected message is a dead letter", func() bool { return b.waiting(b.queue+".dead") == 1 })
}

func TestTLS(t *testing.T) {
	t.Parallel()
	s, tls := rabbittest.StartTLS(t, true)
	quiet := slog.New(slog.DiscardHandler)
	full := tls.URL + "?cacertfile=" + tls.CA + "&certfile=" + tls.Cert + "&keyfile=" + tls.Key
	b := connect(t, s.URL())
	r := b.receive(full, 1, rabbitmq.Options{})
	b.send(b.message("1"))
	r.next("1").Ack()
	if err := rabbitmq.NewTransport(tls.URL, rabbitmq.Options{}).Check(t.Context(), quiet); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("Check = %v, want an error: nobody knows who signed the certificate", err)
	}
}
