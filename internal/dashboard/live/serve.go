package live

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Times of a stream.
const (
	beat        = 15 * time.Second // between two signs of life
	sendTimeout = 30 * time.Second // for a browser to take a report
)

// Serve sends reports to a browser as server-sent events, until it leaves or the server stops. With every sign of life,
// still reports whether the viewer who is still signed in; false ends the stream.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, who *access.Principal, still func() bool) error {
	changed, leave, err := h.Watch(who)
	if err != nil {
		return err
	}
	defer leave()
	ctx, _, cancel := web.Patient(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test may have none to set
		_, err := fmt.Fprint(w, text)
		return err == nil && control.Flush() == nil
	}
	ok := send("retry: 2000\nevent: open\ndata: \n\n")
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for ok {
		select {
		case <-ctx.Done():
			return nil
		case report := <-changed:
			ok = send("event: change\ndata: " + strings.Join(slices.Sorted(maps.Keys(report)), " ") + "\n\n")
		case <-ticker.C:
			ok = still() && send(": alive\n\n")
		}
	}
	return nil
}
