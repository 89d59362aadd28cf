package kafkatest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Cluster is two brokers. The first is the controller, which must live. The other one may be killed; the first has all
// its data. Commits of groups are in several partitions, so that a test can choose the coordinator of a group: GroupOf.
type Cluster struct{ First, Second *Server }

// StartCluster starts a cluster that ends with t. Topics have a replica on each broker, and accept records with one.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	settings := map[string]string{"default.replication.factor": "2", "offsets.topic.replication.factor": "2",
		"offsets.topic.num.partitions": "4", "min.insync.replicas": "1"}
	c := &Cluster{First: Start(t, settings)}
	var err error
	c.Second, err = launch(settings, c.First)
	testserver.OrSkip(t, err)
	c.Second.server.CloseWith(t)
	c.await(t, "two brokers", func(ctx context.Context, admin *kadm.Client) bool {
		meta, err := admin.BrokerMetadata(ctx)
		return err == nil && len(meta.Brokers) == 2
	})
	return c
}

// URL returns kafka://host:port,host:port.
func (c *Cluster) URL() string { return c.First.URL() + "," + c.Second.Address() }

// GroupOf returns the name of a group with a given coordinator.
func (c *Cluster) GroupOf(t testing.TB, of *Server) (group string) {
	t.Helper()
	n := 0
	c.await(t, "a group of the broker", func(ctx context.Context, admin *kadm.Client) bool {
		n++ // the first call creates the topic of the offsets, which takes a moment
		group = fmt.Sprintf("group-%d", n%32)
		found := admin.FindGroupCoordinators(ctx, group)
		return found[group].Err == nil && found[group].NodeID == int32(of.id)
	})
	return group
}

func (c *Cluster) await(t testing.TB, what string, holds func(context.Context, *kadm.Client) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testserver.Patience)
	defer cancel()
	for admin := Admin(t, c.URL()); !holds(ctx, admin); time.Sleep(20 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("Kafka does not get %s", what)
		}
	}
}
