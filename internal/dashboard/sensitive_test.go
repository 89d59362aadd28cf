package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/model/access"
)

// TestSensitive: pages mask sensitive values. A viewer with the permission gets a button; clear text is in no shared
// look.
func TestSensitive(t *testing.T) {
	t.Parallel()
	const secret = "iban-7788"
	s := serve(t, access.Key{Name: "ann", Permissions: []string{"admin"}},
		access.Key{Name: "bob", Permissions: []string{"read", "dead-letters:read", "dead-letters:edit"}})
	_, err := s.engine.DeadLetters().SaveSource(t.Context(), deadletters.SourceRequest{Source: deadletters.Source{
		Name: "billing", Driver: "http", Targets: []string{"http://127.0.0.1:1/orders"}, Sensitive: []string{"/account"}}})
	if err != nil {
		t.Fatal(err)
	}
	receipts := s.reportTo(dead("declined", `{"account": "`+secret+`", "order": 1}`),
		dead("declined", `{"account": "`+secret+`", "order": 2}`))
	letter, other := receipts[0].LetterUUID.String(), receipts[1].LetterUUID.String()
	ann, again, bob := s.as("ann"), s.as("ann"), s.as("bob")

	ann.page("/letters/"+letter, "[masked]", "Show sensitive fields")
	if shown := ann.page("/letters/"+letter+"?sensitive=show", secret, "Hide sensitive fields"); strings.Contains(shown,
		"[masked]") {
		t.Error("a page that shows what is sensitive has a mask")
	}
	again.page("/letters/"+letter, "[masked]")
	if got := bob.get("/letters/" + letter + "?sensitive=show"); got.status != http.StatusForbidden ||
		strings.Contains(got.body, secret) {
		t.Errorf("a viewer without the permission gets %d\n%s", got.status, main(got.body))
	}
	for _, path := range []string{"/", "/inbox", "/inbox/" + receipts[0].GroupID, "/letters", "/letters/" + letter,
		"/letters/compare?letter=" + letter + "&letter=" + other, "/letters/" + letter + "/payload",
		"/letters/export?format=jsonl", "/redrives/new?ids=" + letter, "/audit"} {
		for name, v := range map[string]*viewer{"ann": ann, "bob": bob} {
			if got := v.get(path); strings.Contains(got.body, secret) {
				t.Errorf("GET %s shows it to %s", path, name)
			}
		}
	}
	if page := bob.page("/letters/" + letter); strings.Contains(page, "Show sensitive fields") {
		t.Error("the button is offered to a viewer who may not")
	}
	if got := bob.post("/letters/"+letter+"/change", "payload", `{"account": "[masked]", "order": 3}`); got.status <
		http.StatusBadRequest || !strings.Contains(got.body, "/patch/account") {
		t.Errorf("an edit with the mask = %d\n%s", got.status, main(got.body))
	}
	ann.page("/audit", "see sensitive")
}
