package doctest_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/internal/testkit/pagetest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/remote"
)

// The machines in docs/guides/postgres.md.
const (
	pageDatabase = "db.example.com:5432"
	pageBouncer  = "pgbouncer.example.com:6432"
	pageListen   = "127.0.0.1:8080"
	pageSecond   = "127.0.0.1:8081"
)

// TestPostgresPage runs docs/guides/postgres.md against a separate server: SQL blocks as the superuser, bash blocks as
// one session. The session must have printed every line of a text block.
func TestPostgresPage(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin, err := url.Parse(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	page := &postgresPage{t: t, admin: admin, hosts: map[string]string{pageDatabase: admin.Host,
		pageListen: freeAddress(t), pageSecond: freeAddress(t)}}
	ran := map[string]int{}
	for _, b := range blocks(t, "docs/guides/postgres.md") {
		ran[b.Language]++
		switch b.Language {
		case "sql":
			page.sql(b.Text)
		case "bash":
			page.bash(b.Text)
		case "text":
			page.shown(b.Text)
		}
	}
	if ran["sql"] < 3 || ran["bash"] < 5 || ran["text"] < 3 {
		t.Errorf("the page has blocks of %v", ran)
	}
}

// postgresPage is the state of the page's session.
type postgresPage struct {
	t       *testing.T
	admin   *url.URL
	hosts   map[string]string // replacements of the page's hosts
	exports string            // lines of bash that hold from block to block
	moved   string            // directory with the file that is moved
	printed string
}

// sql runs statements one by one, after the first block in the database that it created.
func (p *postgresPage) sql(text string) {
	p.t.Helper()
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		conn, err := pgx.Connect(p.t.Context(), p.admin.String())
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := conn.Exec(p.t.Context(), statement); err != nil {
			p.t.Errorf("%s: %v", statement, err)
		}
		conn.Close(p.t.Context())
		if strings.HasPrefix(statement, "CREATE DATABASE tasker ") {
			p.admin.Path = "/tasker"
		}
	}
}

var listens = regexp.MustCompile(`--listen (\S+)`)

// bash runs a block. A server that it starts must listen, and continues until the test ends.
func (p *postgresPage) bash(text string) {
	p.t.Helper()
	if strings.Contains(text, pageBouncer) {
		role := *p.admin
		role.User = url.UserPassword("tasker", "change-me")
		through, err := url.Parse(pgtest.PgBouncer(p.t, role.String()))
		if err != nil {
			p.t.Fatal(err)
		}
		p.hosts[pageBouncer] = through.Host
	}
	if p.moved == "" {
		p.moved = p.file()
	}
	for name, host := range p.hosts {
		text = strings.ReplaceAll(text, name, host)
	}
	// Variables of tests are not settings of the program.
	script := "unset ${!TASKER_TEST_@}\ncd " + p.moved + "\n" + p.exports + text
	if at := listens.FindStringSubmatch(text); at != nil {
		// instead of bash, so that it ends with the session
		start(p.t, server{}, strings.NewReplacer("tasker serve", "exec tasker serve", " &\n", "\n").Replace(script))
		p.answers("http://" + at[1])
		return
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "export ") {
			p.exports += line
		}
	}
	out, err := start(p.t, server{}, script).wait()
	if err != nil {
		p.t.Errorf("%s: %v\n%s", text, err, out)
	}
	p.printed += out
}

// shown requires every line of a text block in the output.
func (p *postgresPage) shown(text string) {
	p.t.Helper()
	printed := pagetest.Squeeze(p.printed)
	for line := range strings.Lines(text) {
		if !strings.Contains(printed, pagetest.Squeeze(line)) {
			p.t.Errorf("the page shows\n%s\nbut this is what is printed:\n%s", line, p.printed)
		}
	}
}

// file makes a directory with a tasker.db in which there is a task.
func (p *postgresPage) file() string {
	p.t.Helper()
	dir := p.t.TempDir()
	c, err := embedded.Open(p.t.Context(), "sqlite:"+dir+"/tasker.db", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := c.Submit(p.t.Context(), tasker.TaskRequest{TaskType: "a", Tags: []string{"moved"}}); err != nil {
		p.t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		p.t.Fatal(err)
	}
	return dir
}

// answers waits until a server does its work.
func (p *postgresPage) answers(at string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	c, err := remote.Dial(at, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	for {
		if _, err = c.Submit(ctx, tasker.TaskRequest{TaskType: "a"}); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("the server of the page does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// freeAddress is one on which nothing listens now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
