// Command intake is a Kafka consumer and the intake that replaces it: "intake send TOPIC" sends the lines of its
// input, "intake consume TOPIC" is the old consumer, "intake work" the remaining worker. See README.md.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "intake:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "work":
		return work(ctx)
	case len(args) == 2 && args[0] == "send":
		return send(ctx, os.Stdin, args[1])
	case len(args) == 2 && args[0] == "consume":
		return consume(ctx, args[1])
	}
	return errors.New("usage: intake work | send TOPIC | consume TOPIC")
}

func brokers() kgo.Opt { return kgo.SeedBrokers(cmp.Or(os.Getenv("KAFKA"), "127.0.0.1:9092")) }

// send sends lines "KEY VALUE" to a topic.
func send(ctx context.Context, from io.Reader, topic string) error {
	client, err := kgo.NewClient(brokers(), kgo.AllowAutoTopicCreation())
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), " ")
		records = append(records, &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)})
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Println("sending", len(records), "events")
	return client.ProduceSync(ctx, records...).FirstErr()
}

// work has only the handlers. The settings of the source and the server run each customer's events in order, retry
// them, and show their failures in the inbox.
func work(ctx context.Context) error {
	client, err := remote.Dial(cmp.Or(os.Getenv("TASKER_SERVER"), "http://127.0.0.1:8080"),
		&remote.Options{APIKey: os.Getenv("TASKER_API_KEY")})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // only drops idle connections
	w := worker.New(client, nil)
	worker.Handle(w, "order.placed", placed)
	worker.Handle(w, "order.cancelled", cancelled)
	return w.Run(ctx)
}
