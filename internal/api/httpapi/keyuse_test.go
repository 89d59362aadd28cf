package httpapi_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

type noting struct {
	*fake
	mu    sync.Mutex
	keys  []string
	fails int
}

func (n *noting) NoteKeyUse(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails > 0 {
		n.fails--
		return errors.New("the disk is full")
	}
	n.keys = append(n.keys, access.From(ctx).Name)
	return nil
}

// TestKeyUse: the use of a key is stored once, not with every request. A failure to store hurts no request, and the
// next request tries again.
func TestKeyUse(t *testing.T) {
	t.Parallel()
	secrets, ring := map[string]string{}, []access.Key{}
	for _, name := range []string{"one", "two"} {
		secret, hash := access.Generate()
		secrets[name] = secret
		ring = append(ring, access.Key{Name: name, SHA256: hash, Permissions: []string{"read"}})
	}
	keys, err := access.New(ring)
	if err != nil {
		t.Fatal(err)
	}
	n := &noting{fake: &fake{}, fails: 1}
	a := newAPI(t, n, httpapi.Options{Front: web.New(web.Options{Keys: keys, KeyUse: n})})
	get := func(name string, want int) {
		t.Helper()
		if got := a.do(t, "GET", "/v1/tasks/"+taskID.String(), "", "X-API-Key: "+secrets[name]); got.status != want {
			t.Errorf("%q is answered %d, want %d", name, got.status, want)
		}
	}
	get("one", 200)
	if len(n.keys) != 0 {
		t.Errorf("stored %v although it failed", n.keys)
	}
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { get("one", 200) })
	}
	wait.Wait()
	get("two", 200)
	get("", 401)
	// A refused request uses the key, too.
	if got := a.do(t, "POST", "/v1/tasks", `{"name":"x"}`, "X-API-Key: "+secrets["two"]); got.status != 403 {
		t.Errorf("answered %d, want 403", got.status)
	}
	if len(n.keys) != 2 || n.keys[0] != "one" || n.keys[1] != "two" {
		t.Errorf("stored the use of %v, want of one and two, once", n.keys)
	}
}
