package kafka_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance uses a broker that creates topics on use, to expose a driver that causes that. One broker refuses
// nothing for a moment; see TestRefusedForAMoment.
func TestConformance(t *testing.T) {
	s := behindProxy(t, map[string]string{"auto.create.topics.enable": "true", "num.partitions": "1"})
	brokertest.Run(t, brokertest.Broker{
		Open: kafka.Open, URL: s.URL() + "?session=2&max_message=12582912", Missing: "missing",
		NoMessageIDs: true, NoMark: true, Own: "kafka-", TooLarge: 13 << 20,
		NewQueue: func(t *testing.T) string { return kafkatest.NewTopic(t, s.URL(), 1) },
		Network:  s.Network, NetworkURL: s.url + "?session=2&max_message=12582912",
		Delete: func(t *testing.T, topic string) {
			if _, err := kafkatest.Admin(t, s.URL()).DeleteTopic(t.Context(), topic); err != nil {
				t.Error(err)
			}
		},
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
	})
}
