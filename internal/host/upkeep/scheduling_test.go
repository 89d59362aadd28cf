package upkeep_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

var (
	byStrictness = settings.Config{Scheduling: settings.Scheduling{Mode: task.Strict},
		StalenessDetection: settings.StalenessDetection{Enabled: settings.Off}}
	byAge = settings.Config{Scheduling: settings.Scheduling{Mode: task.Aging},
		StalenessDetection: settings.StalenessDetection{Enabled: settings.Off}}
	byPromotion = settings.Config{Scheduling: settings.Scheduling{Mode: task.Promote},
		StalenessDetection: settings.StalenessDetection{Enabled: settings.Off}}
)

// foreign counts the ready steps without keys of the current order.
func (n *node) foreign() (foreign, all int) {
	n.t.Helper()
	routes, err := n.store.Routes(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	for _, r := range routes {
		steps, err := n.store.QueueStore().ReadyAfter(n.t.Context(), r.ID, math.MinInt64, task.ID{}, 10_000)
		if err != nil {
			n.t.Fatal(err)
		}
		all += len(steps)
		for _, s := range steps {
			if s.Key != n.Order().KeyAt(s.Priority, s.ReadyAt, n.Now()) {
				foreign++
			}
		}
	}
	return foreign, all
}

func (d *database) turnOf(loop string) *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.turns[loop].of
}

func (n *node) submitMany(count int, priority string) {
	n.t.Helper()
	for ; count > 0; count -= 1000 {
		subs := make([]engine.Submission, min(count, 1000))
		for i := range subs {
			subs[i] = engine.Submission{TaskType: "job", Priority: priority}
		}
		if _, err := n.Submit(n.t.Context(), subs, false); err != nil {
			n.t.Fatal(err)
		}
	}
}

// A node with another configuration changes the order for all: the others follow and report the difference, and
// every waiting step gets its new place, even one queued under the old order, and even if the rekeying node dies.
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]bool{"AllLive": false, "OneDies": true} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				d, a, b := pair(t, byStrictness)
				a.submitMany(2300, "low")
				c := boot(t, d, byAge)
				a.submitMany(5, "low") // it has not learned of it yet
				if a.Order().Mode != task.Strict || c.Order().Mode != task.Aging {
					t.Fatalf("before they have heard, the orders are %s and %s", a.Order().Mode, c.Order().Mode)
				}
				time.Sleep(1500 * time.Millisecond)
				if a.Order().Mode != task.Aging || b.Order().Mode != task.Aging || !c.OwnOrder() || a.OwnOrder() {
					t.Errorf("the orders are %s, %s and %s", a.Order().Mode, b.Order().Mode, c.Order().Mode)
				}
				live := a
				if dies {
					busy := d.turnOf("rekeying")
					if busy == nil {
						t.Fatal("nobody is about it")
					}
					busy.setAway(true)
					if busy == a.store {
						live = b
					}
				}
				live.submitMany(5, "high")
				time.Sleep(time.Minute)
				synctest.Wait()
				if foreign, all := live.foreign(); foreign > 0 || all != 2310 {
					t.Errorf("%d steps of %d have keys of another order", foreign, all)
				}
				if pending, err := live.Rekeying(t.Context()); err != nil || pending {
					t.Errorf("it is still under way: %v, %v", pending, err)
				}
				for _, n := range []*node{a, b, c} {
					n.store.setAway(false)
					n.stop()
					if warned := strings.Contains(n.log.String(),
						"the scheduling of the cluster differs from the configuration"); warned != (n != c) {
						t.Errorf("a node warned: %v. Its log:\n%s", warned, n.log)
					}
				}
			})
		})
	}
}

// A node with the current order changes nothing and searches nothing.
func TestSameOrder(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, byStrictness)
		a.submitMany(10, "low")
		before := a.Order()
		c := boot(t, d, byStrictness)
		for _, n := range []*node{a, b, c} {
			if pending, err := n.Rekeying(t.Context()); err != nil || pending || !n.Order().Equal(before) || !n.OwnOrder() {
				t.Errorf("the order is %+v, rekeying: %v, %v", n.Order(), pending, err)
			}
		}
	})
}

// An unconfigured node, such as an embedded engine beside servers, uses the current order.
func TestNoOrderOfItsOwn(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, _ := pair(t, byAge)
		c := boot(t, d, settings.Config{})
		if c.Order().Mode != task.Aging || !c.OwnOrder() || a.Order().Mode != task.Aging {
			t.Errorf("the orders are %+v and %+v", c.Order(), a.Order())
		}
		c.stop()
		if strings.Contains(c.log.String(), "scheduling") {
			t.Errorf("it says %s", c.log)
		}
	})
}

func TestPromotionHasATurn(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, byPromotion)
		a.submitMany(250, "low")
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		bands := func(n *node) map[int]int {
			routes, err := n.store.Routes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			steps, err := n.store.QueueStore().ReadyAfter(t.Context(), routes[0].ID, math.MinInt64, task.ID{}, 1000)
			if err != nil {
				t.Fatal(err)
			}
			count := map[int]int{}
			for _, s := range steps {
				count[task.KeyLevel(s.Key)]++
			}
			return count
		}
		if got := bands(a); got[50] != 250 {
			t.Errorf("after 11 minutes there are %v steps by band", got)
		}
		if d.turnOf("promotion") != a.store {
			t.Error("the turn is not that of the node that was there first")
		}
		a.store.setAway(true)
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if got := bands(b); got[75] != 250 {
			t.Errorf("after 23 minutes and a death there are %v steps by band", got)
		}
		a.store.setAway(false)
	})
}
