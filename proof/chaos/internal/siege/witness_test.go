package siege

import (
	"net/http"
	"testing"
)

type answers struct {
	status int
	header http.Header
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Header: a.header, Body: http.NoBody},
		nil
}

func TestWitness(t *testing.T) {
	t.Parallel()
	advice := func(v string) http.Header { return http.Header{"Retry-After": {v}} }
	for name, c := range map[string]struct {
		answers
		kind string // of the violation; empty: none
	}{
		"OK":                {answers{200, nil}, ""},
		"CallersFault":      {answers{409, nil}, ""},
		"Refused":           {answers{503, advice("1")}, ""},
		"RefusedForNothing": {answers{503, nil}, "no Retry-After"},
		"RefusedForNow":     {answers{503, advice("0")}, "no Retry-After"},
		"RefusedForEver":    {answers{503, advice("later")}, "no Retry-After"},
		"Bug":               {answers{500, advice("1")}, "wrong status"},
		"TooMany":           {answers{429, advice("1")}, "wrong status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n notes
			w := &witness{next: c.answers, notes: &n}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/tasks", nil)
			if err != nil {
				t.Fatal(err)
			}
			for range shown + 1 {
				resp, err := w.RoundTrip(req)
				if err != nil || resp.StatusCode != c.status {
					t.Fatalf("the answer became %v, %v", resp, err)
				}
				resp.Body.Close()
			}
			all, kinds := n.result()
			if c.kind == "" && len(all) > 0 {
				t.Errorf("noted %q", all)
			}
			if c.kind != "" && (kinds[c.kind] != shown+1 || len(all) != shown) {
				t.Errorf("noted %q, %v; want %s %d times, %d of them listed", all, kinds, c.kind, shown+1, shown)
			}
		})
	}
}
