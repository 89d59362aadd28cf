package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/testkit/browsertest"
)

func TestDocsPage(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for path, contentType := range map[string]string{"/docs": "text/html", "/docs/page.js": "text/javascript",
		"/docs/page.css": "text/css", "/docs/swagger-ui-bundle.js": "text/javascript", "/docs/swagger-ui.css": "text/css"} {
		got := a.do(t, "GET", path, "")
		if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), contentType) {
			t.Errorf("%s is answered %d %s", path, got.status, got.header.Get("Content-Type"))
		}
		policy := got.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") || strings.Contains(policy, "http") {
			t.Errorf("%s has the policy %q", path, policy)
		}
	}
	page := a.do(t, "GET", "/docs", "").body
	for _, reference := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if got := a.do(t, "GET", reference[1], ""); got.status != 200 {
			t.Errorf("the page refers to %s, which is answered %d", reference[1], got.status)
		}
	}
}

// TestDocsInBrowser: the page finds operations by words and sends the example of one. A request to another host or a
// breach of its policy fails the test.
func TestDocsInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("what runs in a browser is no matter for the race detector; make test runs it")
	}
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	s := httptest.NewServer(a.handler)
	t.Cleanup(s.Close)
	b := browsertest.New(t)
	b.SetSize(1200, 900)
	b.Open(s.URL + "/docs")
	b.WaitText("#problems", "stale_token")
	b.WaitText("#api", "/v1/tasks/cancel") // operations below load when one scrolls
	b.Fill(".operation-filter-input", "v1/tasks submit many queue")
	b.WaitCount(".opblock", 1)
	b.Click("#operations-queue_API-enqueue-tasks .opblock-summary-control")
	b.WaitTrue("document.querySelector('#operations-queue_API-enqueue-tasks textarea')?.value.includes('cat.png')")
	b.Click("#operations-queue_API-enqueue-tasks .execute")
	b.WaitText("#operations-queue_API-enqueue-tasks .live-responses-table tbody .response-col_status", "200")
	if file := os.Getenv("TASKER_SCREENSHOT"); file != "" {
		b.Screenshot(file, 1200, 900, false)
	}
}

func TestDocsAreAsPublished(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"LICENSE":                          "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30",
		"NOTICE":                           "0d20d1adef18aee3f40dd258172155521ce702ac445cb5f7b7d60ed32dad2fb2",
		"swagger-ui-bundle.js":             "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
		"swagger-ui-bundle.js.LICENSE.txt": "37eb6e7e59aed57b2c1acf076574b818ea07b74265717e0bd67b59e0baf9abbb",
		"swagger-ui.css":                   "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
	} {
		raw, err := os.ReadFile("docs/swagger-ui/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has SHA-256 %x, want %s", name, sum, want)
		}
	}
}
