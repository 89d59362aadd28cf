package rabbitmq_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/rabbittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func declare(t testing.TB, amqpURL, name string, arguments map[string]any) {
	t.Helper()
	rabbittest.Manage(t, amqpURL, http.MethodPut, "/api/queues/{vhost}/"+url.PathEscape(name),
		map[string]any{"durable": true, "arguments": arguments})
}

// cut closes all connections to a virtual host, like their peer.
func cut(t testing.TB, amqpURL string, s *rabbittest.Server) {
	t.Helper()
	if _, err := s.Eval(`[begin [{pid, P}] = rabbit_networking:connection_info(C, [pid]), exit(P, kill) end || ` +
		`C <- rabbit_networking:connections()], ok`); err != nil {
		t.Fatal(err)
	}
}

// TestConformance has the least permissions of docs/guides/rabbitmq.md.
func TestConformance(t *testing.T) {
	s := rabbittest.Start(t, "{max_message_size, 12582912}")
	for name, arguments := range map[string]map[string]any{
		"Classic": {},
		"Quorum":  {"x-queue-type": "quorum"},
	} {
		t.Run(name, func(t *testing.T) {
			owner := rabbittest.NewVhost(t, s.URL())
			user := rabbittest.NewUser(t, owner, "^$", `^amq\.default$`, "^q-")
			host, err := url.Parse(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			between := brokertest.NewNetwork(t, host.Host)
			var queues atomic.Int64
			b := brokertest.Broker{
				Open: rabbitmq.Open, URL: user, Missing: "q-missing", NoKeys: true, TooLarge: 13 << 20,
				NewQueue: func(t *testing.T) string {
					queue := "q-" + strings.ToLower(time.Unix(queues.Add(1), 0).UTC().Format("150405"))
					declare(t, owner, queue, arguments)
					return queue
				},
				Network: between, NetworkURL: between.URL(t, user),
				Forbidden: "exchange:amq.fanout/x",
				Refuse:    func(t *testing.T, queue string) { limit(t, owner, queue, 1) }, // it has one message
				Accept: func(t *testing.T, _ string) {
					rabbittest.Manage(t, owner, http.MethodDelete, "/api/policies/{vhost}/limit", nil)
				},
				Delete: func(t *testing.T, queue string) {
					rabbittest.Manage(t, owner, http.MethodDelete, "/api/queues/{vhost}/"+queue, nil)
				},
				Cut: func(t *testing.T) { cut(t, owner, s) },
				Stop: func(t *testing.T) {
					if err := s.Kill(); err != nil {
						t.Fatal(err)
					}
				},
				Start: func(t *testing.T) {
					if err := s.Restart(); err != nil {
						t.Fatal(err)
					}
				},
			}
			if name == "Quorum" { // it takes some messages more than its limit
				b.Refuse, b.Accept = nil, nil
			}
			brokertest.Run(t, b)
		})
	}
}
