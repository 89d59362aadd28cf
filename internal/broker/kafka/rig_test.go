package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

const patience = brokertest.Patience

var (
	receiver = brokertest.Receiver
	receive  = brokertest.Receive
	ack      = brokertest.Ack
	send     = brokertest.Send
	payloads = brokertest.Payloads
	headers  = brokertest.Headers
	header   = brokertest.Header
)

// open connects like the server.
func open(t testing.TB, url string) driver.Driver {
	t.Helper()
	d, err := driver.Registry{"kafka": kafka.Open}.Open(t.Context(), "kafka", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// fails receives until an error, and returns it.
func fails(t testing.TB, r driver.Receiver) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		if _, err := r.Receive(ctx, 100); err != nil {
			if ctx.Err() != nil {
				t.Fatal("the receiver does not notice")
			}
			return err
		}
	}
}

func produce(t testing.TB, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func depth(t testing.TB, d driver.Driver, topic string, want int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		_, n, err := d.Stat(t.Context(), topic)
		if err == nil && n == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the depth is %d, want %d; %v", n, want, err)
		}
	}
}

func numbered(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i].Payload = fmt.Append(nil, i+1)
		out[i].Key = fmt.Append(nil, "key", i%7)
	}
	return out
}

// network is a broker behind a controllable network.
type network struct {
	*kafkatest.Server
	*brokertest.Network
	url string // through it
}

func (n *network) URL() string { return n.Server.URL() }

// behindProxy starts a broker with two listeners: its own URL is direct, the other one passes the network.
func behindProxy(t testing.TB, settings map[string]string) *network {
	t.Helper()
	port, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	n := &network{Network: brokertest.NewNetwork(t, fmt.Sprintf("127.0.0.1:%d", port))}
	n.url = "kafka://" + n.Network.Address
	n.Server = kafkatest.Start(t, settings, kafkatest.Listener{Name: "PROXIED", Protocol: "PLAINTEXT", Port: port,
		Advertised: n.Network.Address})
	return n
}
