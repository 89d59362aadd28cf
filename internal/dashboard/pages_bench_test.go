package dashboard_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	_ "github.com/taskerhq/tasker/embedded/postgres"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/browsertest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

var (
	objects    = flag.Int("objects", 10_000, "tasks, and letters, that BenchmarkPages stores")
	onPostgres = flag.Bool("postgres", false, "let BenchmarkPages store them in PostgreSQL, not in SQLite")
)

// groupsOf is the number of groups of the letters.
const groupsOf = 500

func BenchmarkPages(b *testing.B) {
	dsn := "sqlite:" + sqlitetest.File(b)
	if *onPostgres {
		dsn = pgtest.DSN(b)
	}
	s := serveOn(b, dsn, node.Options{})
	letter, group := fill(b, s)
	s.run()
	page, err := s.engine.Tasks(b.Context(), tasker.TaskFilter{Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	small, large := page.Tasks[0].TaskUUID.String(), bigTask(b, s)
	usable(b, s, "/", "/inbox", "/inbox/"+group, "/letters/"+letter, "/tasks", "/tasks/"+large)
	for _, path := range []string{"/", "/inbox", "/inbox?order=open", "/inbox/" + group, "/letters",
		"/letters?text=number-0", "/letters/" + letter, "/redrives/new?groups=" + group, "/tasks", "/tasks?view=error",
		"/tasks?name=job", "/tasks/" + small, "/tasks/" + large, "/queues", "/workers", "/audit", "/system"} {
		b.Run(strings.NewReplacer(letter, "ID", group, "ID", small, "ID", large, "LARGE").Replace(path),
			func(b *testing.B) {
				n := 0
				var took []time.Duration
				for b.Loop() {
					n++
					began := time.Now()
					address := s.url + path + "?" + fmt.Sprint("unshared=", n)
					if strings.Contains(path, "?") {
						address = s.url + path + "&" + fmt.Sprint("unshared=", n)
					}
					load(b, address)
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2].Seconds()*1e3, "p50-ms")
				b.ReportMetric(took[len(took)-1].Seconds()*1e3, "max-ms")
			})
	}
}

// usable measures in a browser the time from the click until scripts have run and the page is painted.
func usable(b *testing.B, s *server, paths ...string) {
	if testing.Short() {
		return
	}
	tab := browsertest.New(b)
	for _, path := range paths {
		var took []float64
		for range 7 {
			tab.Open(s.url + path)
			var ms float64
			tab.Eval(`Math.max(performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd,
 performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0)`, &ms)
			took = append(took, ms)
		}
		slices.Sort(took)
		fmt.Printf("usable%s after %.0f ms, at most %.0f\n", path, took[3], took[6])
	}
}

// bigTask submits a task with the maximal number of steps.
func bigTask(b testing.TB, s *server) string {
	b.Helper()
	source := strings.Builder{}
	source.WriteString("name: large\nnamespace_name: shop\nversion: 1.0.0\nsteps:\n")
	for i := range 1000 {
		fmt.Fprintf(&source, "  - {name: s%d, handler: large", i)
		if i >= 10 { // ten in parallel, each after two of the previous
			fmt.Fprintf(&source, ", dependencies: [s%d, s%d]", i-10, i/10*10-10+(i+1)%10)
		}
		source.WriteString("}\n")
	}
	if _, err := s.engine.RegisterTemplate(b.Context(), tasker.TemplateSource{YAML: source.String()}); err != nil {
		b.Fatal(err)
	}
	got, err := s.engine.SubmitTasks(b.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{
		{Name: "large", Namespace: "shop", Version: "1.0.0"}}})
	if err != nil {
		b.Fatal(err)
	}
	return got[0].TaskUUID.String()
}

func load(b *testing.B, address string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s = %d, %v", address, resp.StatusCode, err)
	}
	b.ReportMetric(float64(n)/1024, "KiB/page")
}

// fill stores tasks and letters, and returns a letter and its group.
func fill(b *testing.B, s *server) (letter, group string) {
	b.Helper()
	for from := 0; from < *objects; from += 1000 {
		tasks := make([]tasker.TaskRequest, min(1000, *objects-from))
		for i := range tasks {
			tasks[i] = tasker.TaskRequest{TaskType: "job", Context: []byte(`{"n": 1}`)}
		}
		if _, err := s.engine.SubmitTasks(b.Context(), tasker.SubmitRequest{Tasks: tasks}); err != nil {
			b.Fatal(err)
		}
		reports := make([]deadletters.Report, len(tasks))
		for i := range reports {
			kind := (from + i) % groupsOf
			reports[i] = dead("it failed", fmt.Sprintf(`{"text": "number-%d", "kind": %d}`, from+i, kind))
			reports[i].Failure.Type = "Kind" + string(rune('A'+kind/26)) + string(rune('a'+kind%26))
			reports[i].MessageID = fmt.Sprint("m-", from+i)
		}
		got, err := s.engine.DeadLetters().Report(b.Context(), deadletters.ReportRequest{Source: "billing",
			Reports: reports})
		if err != nil {
			b.Fatal(err)
		}
		letter, group = got[0].LetterUUID.String(), got[0].GroupID
	}
	if err := s.engine.RunOnce(b.Context()); err != nil {
		b.Fatal(err)
	}
	return letter, group
}
