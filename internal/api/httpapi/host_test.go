package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/api/httpapi"
)

// By DNS rebinding, a page of evil.example has the server's origin; only the Host differs.
func TestHostOfAnOpenServer(t *testing.T) {
	t.Parallel()
	for host, welcome := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "127.9.9.9:80": true, "localhost": true, "LocalHost:8080": true,
		"[::1]": true, "[::1]:8080": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"10.0.0.1:8080": false, "[::2]:80": false, "": false, ":8080": false,
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			for _, loopbackOnly := range []bool{true, false} {
				h := httpapi.New(&fake{}, httpapi.Options{LoopbackOnly: loopbackOnly})
				r := httptest.NewRequest(http.MethodGet, "/v1/tasks", nil)
				r.Host = host
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if refused := w.Code == http.StatusForbidden; refused != (loopbackOnly && !welcome) {
					t.Errorf("loopback only %v: %d %s", loopbackOnly, w.Code, w.Body)
				}
				if w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), `"code":"forbidden"`) {
					t.Errorf("no problem document: %s", w.Body)
				}
			}
		})
	}
}
