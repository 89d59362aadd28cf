package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

func TestEventsLimitPerKey(t *testing.T) {
	t.Parallel()
	greedy, greedyHash := access.Generate()
	modest, modestHash := access.Generate()
	ring, err := access.New([]access.Key{
		{Name: "greedy", SHA256: greedyHash, Permissions: []string{"read"}},
		{Name: "modest", SHA256: modestHash, Permissions: []string{"read"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	url, _ := listening(t, httpapi.New(&fake{stream: lasting},
		httpapi.Options{Front: web.New(web.Options{Keys: ring}), Limits: httpapi.Limits{Streams: 3, StreamsPerKey: 2}}))
	open := func(secret string) *http.Response {
		r, err := http.NewRequest(http.MethodGet, url+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", secret)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { got.Body.Close() })
		return got
	}
	for i, want := range []int{200, 200, 429} {
		got := open(greedy)
		if got.StatusCode != want {
			t.Errorf("stream %d of a key is answered %d, want %d", i+1, got.StatusCode, want)
		}
		if want == 429 && got.Header.Get("Retry-After") != "5" {
			t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
		}
	}
	if got := open(modest); got.StatusCode != 200 {
		t.Errorf("the stream of another key is answered %d", got.StatusCode)
	}
	got := open(modest)
	defer got.Body.Close()
	var text strings.Builder
	if err := got.Write(&text); err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != 429 || !strings.Contains(text.String(), "server.max_streams") {
		t.Errorf("one too many for all is answered %s", text.String())
	}
}
