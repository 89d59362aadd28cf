package inbox_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker"
)

// receiver is an endpoint with controllable answers.
type receiver struct {
	server *httptest.Server
	secret webhook.Secret

	mu     sync.Mutex
	status []int // of the next requests; then 200
	got    chan received
}

// received is a verified request.
type received struct {
	id     string
	event  deadletters.WebhookEvent
	status int
}

// newReceiver returns a receiver that refuses unsigned requests.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	secret, err := webhook.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{secret: secret, got: make(chan received, 100)}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		got := received{id: req.Header.Get("webhook-id"), status: r.next()}
		var seconds int64
		_, _ = fmt.Sscan(req.Header.Get("webhook-timestamp"), &seconds)
		if err := json.Unmarshal(body, &got.event); err != nil || req.Header.Get("webhook-signature") !=
			webhook.Sign([]webhook.Secret{secret}, got.id, time.Unix(seconds, 0), body) {
			got.status = http.StatusUnauthorized
		}
		w.WriteHeader(got.status)
		r.got <- got
	}))
	t.Cleanup(r.server.Close)
	receivers.Store(r.endpoint("").URL, r)
	return r
}

func (r *receiver) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.status) == 0 {
		return http.StatusOK
	}
	status := r.status[0]
	r.status = r.status[1:]
	return status
}

func (r *receiver) endpoint(name string, change ...func(*webhook.Endpoint)) webhook.Endpoint {
	to := webhook.Endpoint{Name: name, URL: r.server.URL + "/secret-path", Secrets: []webhook.Secret{r.secret}}
	for _, c := range change {
		c(&to)
	}
	return to
}

// as "state webhook event", the oldest first
func (r *rig) deliveries() (out []string) {
	r.t.Helper()
	page, err := r.client.Tasks(r.t.Context(), tasker.TaskFilter{Namespace: deadletter.SystemNamespace, Limit: 100,
		WithContext: true})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range page.Tasks {
		of := &page.Tasks[len(page.Tasks)-1-i]
		var d inbox.Delivery
		if err := json.Unmarshal(of.Context, &d); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s", of.State, d.Webhook, d.Event))
	}
	return out
}

// courier delivers events until the test ends.
func (r *rig) courier() {
	ctx, stop := context.WithCancel(r.t.Context())
	w := worker.New(r.client, &worker.Options{Namespaces: []string{deadletter.SystemNamespace}})
	worker.Handle(w, inbox.DeliveryTemplate, r.node.Deliver)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

// until lets time pass until a condition holds, except during a delivery.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if holds() {
			return
		}
		under := slices.ContainsFunc(r.deliveries(), func(d string) bool { return strings.HasPrefix(d, "steps_in_process") })
		if under {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		r.pass(time.Second)
	}
	r.t.Fatalf("never: %s", what)
}

// hooked has two webhooks: "all", and "shop" for lost sources and one namespace.
func hooked(t *testing.T) func(*node.Options) {
	return func(o *node.Options) {
		o.Webhooks = []webhook.Endpoint{newReceiver(t).endpoint("all"), newReceiver(t).endpoint("shop",
			func(e *webhook.Endpoint) {
				e.Events, e.Namespaces = []string{"group.new", "source.lost"}, []string{"shop"}
			})}
	}
}

var receivers sync.Map

func (r *rig) receiver(n int) *receiver {
	of, _ := receivers.Load(r.webhooks[n].URL)
	return of.(*receiver)
}

func (r *receiver) take(t *testing.T) received {
	t.Helper()
	select {
	case got := <-r.got:
		return got
	case <-time.After(30 * time.Second):
		t.Fatal("nothing arrives")
		return received{}
	}
}

// An event is one task for each webhook that takes it. A receiver that was down gets it later, under the same ID.
func TestWebhookDelivery(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		all, shop := r.receiver(0), r.receiver(1)
		all.status = []int{http.StatusServiceUnavailable, http.StatusTooManyRequests}
		r.courier()
		r.die(dead(1, "Timeout"))
		r.pass(time.Second)
		first := all.take(t)
		r.want("the first attempt", first.status, http.StatusServiceUnavailable)
		for _, status := range []int{http.StatusTooManyRequests, http.StatusOK} {
			var again received
			r.until("the next attempt", func() bool {
				select {
				case again = <-all.got:
					return true
				default:
					return false
				}
			})
			r.want("the next attempt", again.status, status)
			r.want("its ID", again.id, first.id)
			r.want("event", fmt.Sprint(again.event.Type, again.event.Data.Namespace, again.event.Data.Group.Title),
				"group.newdefaultTimeout: Timeout of order <n>")
		}
		r.until("completion", func() bool {
			return len(r.deliveries()) == 1 && r.deliveries()[0] == "complete all group.new"
		})
		r.want("what the other webhook got", len(shop.got), 0)
	}, hooked(t))
}

// A permanent refusal is a failed task with a case, and causes no webhook event. No page of it shows a URL.
func TestWebhookRefused(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		all := r.receiver(0)
		all.status = []int{http.StatusGone, http.StatusUnauthorized}
		r.courier()
		r.die(dead(1, "Timeout"))
		r.pass(time.Second)
		r.want("status", all.take(t).status, http.StatusGone)
		r.until("the failure", func() bool { return r.deliveries()[0] == "error all group.new" })
		r.die(dead(2, "Schema"))
		r.pass(time.Second)
		r.want("status", all.take(t).status, http.StatusUnauthorized)
		r.until("the failures", func() bool { return r.deliveries()[1] == "error all group.new" })
		r.until("their groups", func() bool { return len(r.groups()) == 4 })
		for range 5 {
			r.pass(time.Minute)
		}
		r.want("deliveries", len(r.deliveries()), 2)
		r.want("requests", len(all.got), 0)
		page, err := r.Groups(t.Context(), groups.GroupFilter{Namespace: deadletter.SystemNamespace, Limit: 10}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Groups {
			if !strings.HasPrefix(g.Title, "WebhookRefused: all: the webhook answered 4") {
				t.Errorf("a group of failures is called %q", g.Title)
			}
		}
	}, hooked(t))
}

// An event survives the end of its node before the delivery; two nodes submit one task for each webhook.
func TestWebhookNotLost(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(dead(1, "Timeout"), dead(2, "Schema"))
		if _, _, err := r.Triage(t.Context()); err != nil { // the node ends here
			t.Fatal(err)
		}
		r.want("deliveries", len(r.deliveries()), 0)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if _, _, err := r.SubmitDeliveries(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		r.want("deliveries", len(r.deliveries()), 2)
		if n, more, err := r.SubmitDeliveries(t.Context()); n != 0 || more || err != nil {
			t.Errorf("%d events wait still, %v, %v", n, more, err)
		}
	}, hooked(t))
}

// A task names an event, and cannot send other content or reach other receivers.
func TestDeliver(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(dead(1, "Timeout"))
		r.pass(time.Second)
		page, err := r.client.Tasks(t.Context(), tasker.TaskFilter{Namespace: deadletter.SystemNamespace,
			WithContext: true})
		if err != nil {
			t.Fatal(err)
		}
		of := page.Tasks[0]
		var d inbox.Delivery
		if err := json.Unmarshal(of.Context, &d); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Deliver(t.Context(), d); err != nil || r.receiver(0).take(t).id != d.EventUUID {
			t.Errorf("the event itself: %v", err)
		}
		if status, err := r.Deliver(t.Context(), inbox.Delivery{EventUUID: d.EventUUID, Webhook: "shop"}); status != 0 ||
			err != nil || len(r.receiver(1).got) != 0 {
			t.Errorf("to a webhook that does not want it: %d, %v", status, err)
		}
		for _, forged := range []inbox.Delivery{{EventUUID: d.EventUUID, Webhook: "none"}, {EventUUID: "x", Webhook: "all"},
			{EventUUID: of.TaskUUID.String(), Webhook: "all"}, {}} {
			_, err := r.Deliver(t.Context(), forged)
			r.refused(err, task.NotFound)
		}
		r.pass(31 * 24 * time.Hour)
		_, err = r.Deliver(t.Context(), d)
		r.refused(err, task.NotFound)
	}, hooked(t))
}

// A test event is signed and its answer shown; a key reaches only webhooks of its namespaces.
func TestWebhookTest(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		all := r.receiver(0)
		test, err := r.TestWebhook(t.Context(), "all")
		if err != nil || test.Status != http.StatusOK || test.Error != "" {
			t.Fatalf("%+v, %v", test, err)
		}
		got := all.take(t)
		r.want("what arrived", fmt.Sprint(got.event.Type, got.status, got.id == test.MessageID), "webhook.test200 true")
		all.status = []int{http.StatusForbidden}
		test, err = r.TestWebhook(t.Context(), "all")
		if err != nil || test.Status != http.StatusForbidden || test.Error != "the webhook answered 403" {
			t.Errorf("%+v, %v", test, err)
		}
		_, err = r.TestWebhook(t.Context(), "none")
		r.refused(err, task.NotFound)
		reached := limited(t, "shop")
		_, err = r.TestWebhook(reached, "all")
		r.refused(err, task.NotFound)
		names := ""
		for _, to := range r.Endpoints(reached) {
			names += to.Name
		}
		r.want("webhooks of the key", names, "shop")
		r.want("webhooks", len(r.Endpoints(t.Context())), 2)
	}, hooked(t))
}
