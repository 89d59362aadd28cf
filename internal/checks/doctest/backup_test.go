package doctest_test

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/testkit/pagetest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// service replaces systemctl on the page: it starts and stops a server on $TASKER_DB. Before the page, one gets a task;
// that task is in the backup, and later ones are not.
const service = `
unset ${!TASKER_TEST_@}
systemctl() {
  if [ "$1" = stop ]; then kill -INT "$(cat pid)"; wait "$(cat pid)"; return; fi
  rm -f address
  tasker serve --listen 127.0.0.1:0 --address-file address --log-level warn > /dev/null & echo $! > pid
  until [ -s address ]; do sleep 0.05; done
  export TASKER_SERVER=$(cat address)
}
submit() { tasker task submit --type report --tag "$1" --quiet > /dev/null; }
mkdir -p lib backups
systemctl start tasker
submit in-the-backup
`

// TestBackupPage runs the chapters of docs/guides/backup.md about SQLite and PostgreSQL: after each, the task from
// before the backup exists, and the later one does not.
func TestBackupPage(t *testing.T) {
	t.Parallel()
	chapters := strings.Split(read(t, "docs/guides/backup.md"), "\n## ")
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			dsn := ""
			if database == "PostgreSQL" {
				pagetest.Need(t, "pg_dump")
				dsn = ownDatabase(t)
			}
			at := slices.IndexFunc(chapters, func(c string) bool { return strings.HasPrefix(c, database) })
			if at < 0 {
				t.Fatalf("the page has no chapter %s", database)
			}
			list := pagetest.Blocks(chapters[at])
			if len(list) < 2 {
				t.Fatalf("the chapter has %d blocks", len(list))
			}
			dir := t.TempDir()
			if dsn == "" {
				dsn = "sqlite:" + filepath.Join(dir, "lib/tasker.db")
			}
			commands := "cd '" + dir + "'\nexport TASKER_DB='" + dsn + "'\n" + service
			for i, b := range list {
				commands += b.Text + "\n"
				if i == 0 {
					commands += "submit after-the-backup\n"
				}
			}
			commands += "echo; tasker task list --json\nsystemctl stop tasker\n"
			out, err := start(t, server{}, strings.NewReplacer("/var/lib/tasker", dir+"/lib", "/var/backups/tasker",
				dir+"/backups").Replace(commands)).wait()
			if err != nil || !strings.Contains(out, "in-the-backup") || strings.Contains(out, "after-the-backup") {
				t.Errorf("the chapter %s: %v\n%s", database, err, out)
			}
		})
	}
}

// ownDatabase creates the page's database on a server of the test, and returns its DSN.
func ownDatabase(t *testing.T) string {
	t.Helper()
	admin := pgtest.Start(t).DSN()
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE tasker"); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	at.Path = "/tasker"
	if at.RawQuery == "" {
		at.RawQuery = "sslmode=disable"
	}
	return at.String()
}
