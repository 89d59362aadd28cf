package carrier_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

// The broker that coordinates a source's group is killed while letters arrive. Each record is one letter that died
// once.
func TestCoordinatorMoves(t *testing.T) {
	t.Parallel()
	const batches, each = 20, 150
	cluster := kafkatest.StartCluster(t)
	kafkatest.CreateTopic(t, cluster.URL(), "orders.dlq", 4)
	r := &intakeRig{t: t, kind: "kafka", queue: "orders.dlq", open: kafka.Open,
		url: cluster.URL() + "/?session=2&group=" + cluster.GroupOf(t, cluster.Second)}
	r.useDatabase("SQLite")
	var err error
	if r.driver, err = r.open(t.Context(), r.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.driver.Close() })
	n, _, _ := r.start()
	if _, err := n.Inbox().SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "jobs", Driver: r.kind,
		URL: r.url, Queue: r.queue}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	client := kafkatest.Client(t, cluster.URL(), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	moved := 0
	for i := range batches {
		var records []*kgo.Record
		for k := range each {
			records = append(records, &kgo.Record{Topic: r.queue, Value: fmt.Appendf(nil, `{"order":"%d-%d"}`, i, k)})
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if i == batches/2 {
			await.Text(r.t, "capture begins", "true", func() string { return fmt.Sprint(r.deaths(n).letters > each) })
			if err := cluster.Second.Kill(); err != nil {
				t.Fatal(err)
			}
			moved = r.deaths(n).letters
		}
	}
	all := batches * each
	want := deaths{letters: all, occurrences: all, messages: all}
	await.Text(r.t, "the letters", fmt.Sprint(want), func() string { return fmt.Sprint(r.deaths(n)) })
	await.Text(r.t, "the lag", "0", func() string {
		_, depth, err := r.driver.Stat(t.Context(), r.queue)
		return fmt.Sprint(depth, map[bool]string{true: "", false: " " + fmt.Sprint(err)}[err == nil])
	})
	if moved == all {
		t.Error("all was captured before the coordinator was killed: the test proves nothing")
	}
}

type deaths struct{ letters, occurrences, messages int }

func (r *intakeRig) deaths(n *node.Node) (d deaths) {
	r.t.Helper()
	messages := map[string]bool{}
	f := inbox.LetterFilter{Selection: deadletter.Selection{Namespace: "default"}, Limit: 1000}
	for {
		page, err := n.Inbox().Letters(r.t.Context(), f)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, l := range page.Letters {
			d.letters++
			d.occurrences += l.Occurrences
			messages[string(l.Original.Payload)] = true
		}
		if f.Below = page.Next; f.Below.IsZero() {
			d.messages = len(messages)
			return d
		}
	}
}

// Two nodes join and leave the group of a source while 20,000 records arrive. Each is one letter that died once.
func TestNodesComeAndGo(t *testing.T) {
	t.Parallel()
	const batches, each = 40, 500
	r := newIntakeRig(t, "kafka", "PostgreSQL")
	r.url += "?session=2"
	n, _, stop := r.start()
	if _, err := n.Inbox().SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "jobs", Driver: r.kind,
		URL: r.url, Queue: r.queue}, inbox.By{}); err != nil {
		t.Fatal(err)
	}
	client := kafkatest.Client(t, kafkatest.Shared(t))
	for i := range batches {
		var records []*kgo.Record
		for k := range each {
			records = append(records, &kgo.Record{Topic: r.queue, Key: fmt.Append(nil, k%50),
				Value: fmt.Appendf(nil, `{"order":"%d-%d"}`, i, k)})
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if i%10 != 9 {
			continue
		}
		next, _, stopNext := r.start()
		stop()
		n, stop = next, stopNext
		before := r.deaths(n).letters
		await.Text(r.t, "the other node goes on", "true", func() string {
			d := r.deaths(n).letters
			return fmt.Sprint(d > before || d == (i+1)*each)
		})
	}
	all := batches * each
	want := deaths{letters: all, occurrences: all, messages: all}
	await.Text(r.t, "the letters", fmt.Sprint(want), func() string { return fmt.Sprint(r.deaths(n)) })
	await.Text(r.t, "the lag", "0", func() string { return fmt.Sprint(r.depth()) })
}
