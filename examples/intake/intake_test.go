//go:build unix

package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, map[string]func(){"intake": main}) }

func TestReadme(t *testing.T) {
	broker := kafkatest.Shared(t)
	address := strings.TrimPrefix(broker, "kafka://")
	pagetest.Need(t, "jq")
	pagetest.Example{Programs: []string{"intake"}, Env: []string{"KAFKA=" + address},
		Replace: map[string]string{"127.0.0.1:9092": address, "shop.orders": kafkatest.NewTopic(t, broker, 2)}}.Run(t)
}

// TestConsumer: the replaced consumer works.
func TestConsumer(t *testing.T) {
	broker := kafkatest.Shared(t)
	t.Setenv("KAFKA", strings.TrimPrefix(broker, "kafka://"))
	topic := kafkatest.NewPrefix(t, broker) + "orders"
	kafkatest.CreateTopic(t, broker, topic, 2)
	kafkatest.CreateTopic(t, broker, topic+deadLetters, 1)
	events, err := os.Open("orders.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := send(ctx, events, topic); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- consume(ctx, topic) }()
	letters := kafkatest.Client(t, broker, kgo.ConsumeTopics(topic+deadLetters),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var dead []*kgo.Record
	for len(dead) < 3 && ctx.Err() == nil {
		dead = append(dead, letters.PollFetches(ctx).Records()...)
	}
	stop()
	if err := <-ended; err != nil || len(dead) != 3 {
		t.Errorf("%d dead letters, %v", len(dead), err)
	}
}
