package browsertest_test

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/testkit/browsertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"

const good = `<!doctype html><html lang="en"><head><title>Good</title>
<link rel="stylesheet" href="/style.css"><script src="/app.js" defer></script></head>
<body><main><h1>Good   page</h1><p id="said">nothing</p>
<form><label>Name <input id="name" value="old"></label><label>Colour
<select id="colour"><option>red<option>blue</select></label>
<button type="button">Say it</button></form>
<div id="far"><button type="button" id="below">Below</button></div>
</main></body></html>`

const script = `
const said = document.getElementById('said');
document.querySelector('form button').addEventListener('click', () => {
	setTimeout(() => { said.textContent = document.getElementById('name').value + ' in ' +
		document.getElementById('colour').value; }, 50);
});
document.getElementById('below').addEventListener('click', () => { history.pushState({}, '', '/elsewhere'); });
document.addEventListener('keydown', e => {
	if (e.ctrlKey && e.key === 'k' || e.key === 'Escape') said.textContent = e.key;
});`

const style = `#far { margin-top: 3000px } body { background: #fff; color: #000 }
@media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }`

// serve serves the pages by path: all but /loose with a policy, and /broken with status 500.
func serve(t *testing.T, pages map[string]string) string {
	t.Helper()
	kinds := map[string]string{".css": "text/css", ".js": "text/javascript", "": "text/html"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kinds[filepath.Ext(r.URL.Path)]+"; charset=utf-8")
		if r.URL.Path != "/loose" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func goodSite(t *testing.T) string {
	t.Helper()
	return serve(t, map[string]string{"/": good, "/app.js": script, "/style.css": style})
}

func TestUse(t *testing.T) {
	t.Parallel()
	url := goodSite(t)
	tab := browsertest.New(t)
	tab.Open(url)
	if got := tab.Text("h1"); got != "Good page" {
		t.Errorf("the heading is %q", got)
	}
	if n := tab.Count("option"); n != 2 {
		t.Errorf("there are %d options", n)
	}
	tab.Fill("#name", `a "new" <one>`)
	tab.Fill("#colour", "blue")
	tab.Click("form button")
	tab.WaitText("#said", `a "new" <one> in blue`)
	tab.Fill("#name", "")
	if got := tab.Value("#name"); got != "" {
		t.Errorf("the field has %q", got)
	}
	tab.Press("x", "Shift+Tab", "Escape")
	tab.WaitText("#said", "Escape")
	if got := tab.Value("#name"); got != "x" {
		t.Errorf("the field has %q", got)
	}
	tab.Press("Control+k")
	tab.WaitText("#said", "k")
	tab.Click("#below") // far below the window
	tab.WaitURL("/elsewhere")
	tab.Back()
	tab.WaitTrue("location.pathname === '/'")
	tab.Reload()
	tab.WaitText("#said", "nothing")
	tab.WaitCount("p", 1)
	if got := tab.URL(); got != url+"/" {
		t.Errorf("the address is %s, want %s/", got, url)
	}
	if got := tab.Attr("html", "lang"); got != "en" {
		t.Errorf("the language is %q", got)
	}
	if found := tab.Problems(); len(found) > 0 {
		t.Errorf("problems of a good page: %q", found)
	}
}

// Two tabs share a browser, but no cookies.
func TestCookies(t *testing.T) {
	t.Parallel()
	url := goodSite(t)
	one, other := browsertest.New(t), browsertest.New(t)
	one.Open(url)
	got := one.Cookies()
	if len(got) != 1 || got[0].Name != "seen" || got[0].Value != "yes" || !got[0].HttpOnly ||
		got[0].SameSite != http.SameSiteStrictMode {
		t.Errorf("cookies: %v", got)
	}
	if got := other.Cookies(); len(got) > 0 {
		t.Errorf("cookies of a new tab: %v", got)
	}
}

func TestScreenshot(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	tab.Open(goodSite(t))
	shot := func(width, height int, dark bool) (brightness uint32) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "page.png")
		tab.Screenshot(path, width, height, dark)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != width || b.Dy() != height {
			t.Errorf("it is %d by %d, want %d by %d", b.Dx(), b.Dy(), width, height)
		}
		r, _, _, _ := img.At(2, 2).RGBA()
		return r
	}
	if light, dark := shot(360, 700, false), shot(1600, 900, true); light != 0xffff || dark != 0 {
		t.Errorf("a light page has %x in the corner, a dark one %x", light, dark)
	}
	var width int
	if tab.Eval("innerWidth", &width); width != 1280 {
		t.Errorf("the tab is %d wide afterwards", width)
	}
	tab.SetSize(800, 600)
	tab.SetDark(true)
	tab.WaitTrue("innerWidth === 800 && innerHeight === 600 && matchMedia('(prefers-color-scheme: dark)').matches")
}

// Each kind of problem is reported.
func TestProblems(t *testing.T) {
	t.Parallel()
	tab := browsertest.New(t)
	for name, c := range map[string]struct{ path, body, script, want, also string }{
		"console":       {script: `console.error('no good', 7)`, want: "console: no good 7"},
		"exception":     {script: `null.f()`, want: "exception: Uncaught TypeError"},
		"rejection":     {script: `Promise.reject(new Error('lost'))`, want: "exception: Uncaught (in promise) Error: lost"},
		"inline style":  {body: `<p style="color: red">red</p>`, want: "security: Applying inline style violates"},
		"inline script": {body: `<script>document.title = 'no'</script>`, want: "security: Executing inline script violates"},
		"image that the policy forbids": {body: `<img alt="" src="https://elsewhere.example/x.png">`,
			want: "security: Loading the image 'https://elsewhere.example/x.png' violates", also: "https://elsewhere.example/"},
		"another host": {path: "/loose", body: `<img alt="" src="http://elsewhere.example/x.png">`,
			want: "does not load: net::ERR_NAME_NOT_RESOLVED", also: "request to another host: http://elsewhere.example/x.png"},
		"missing image": {body: `<img alt="" src="/missing.png">`, want: "status 404 of "},
		"server error":  {path: "/broken", want: "status 500 of "},
		"dialog":        {script: `confirm('Sure?')`, want: "dialog: Sure?"},
	} {
		if c.path == "" {
			c.path = "/page"
		}
		url := serve(t, map[string]string{
			c.path: `<!doctype html><html lang="en"><head><title>Bad</title>
				<script src="/bad.js"></script></head><body>` + c.body + `</body></html>`,
			"/bad.js": c.script,
		})
		before := len(tab.Problems())
		tab.Open(url + c.path)
		reported := func(p string) bool { return strings.Contains(p, c.want) }
		for deadline := time.Now().Add(time.Minute); !slices.ContainsFunc(tab.Problems()[before:], reported); {
			if time.Now().After(deadline) {
				t.Fatalf("%s: no problem with %q, but %q", name, c.want, tab.Problems()[before:])
			}
			time.Sleep(10 * time.Millisecond)
		}
		tab.Expect(c.want)
		if c.also != "" {
			tab.Expect(c.also)
		}
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	url := serve(t, map[string]string{
		"/": good, "/app.js": script, "/style.css": style,
		"/bad": `<!doctype html><html lang="en"><head><title>Bad</title></head>
			<body><main><h1>Bad</h1><input id="nameless"></main></body></html>`,
	})
	tab := browsertest.New(t)
	tab.Open(url)
	if got := tab.Violations(); len(got) > 0 {
		t.Errorf("violations of a good page: %v", got)
	}
	tab.Open(url + "/bad")
	got := tab.Violations()
	if len(got) != 1 || got[0].Rule != "label" || got[0].Impact != "critical" ||
		!slices.Equal(got[0].Targets, []string{"#nameless"}) || !strings.Contains(got[0].String(), "label") {
		t.Errorf("violations: %v; want a label that is missing", got)
	}
	var there bool
	if tab.Eval("'axe' in window", &there); there {
		t.Error("the page sees axe-core")
	}
}

// A covered element cannot be clicked.
func TestClickWaits(t *testing.T) {
	t.Parallel()
	url := serve(t, map[string]string{
		"/": `<!doctype html><html lang="en"><head><title>Late</title>
			<link rel="stylesheet" href="/style.css"><script src="/app.js" defer></script></head>
			<body><button disabled>Go</button><p></p><div></div></body></html>`,
		"/style.css": `div { position: fixed; inset: 0 }`,
		"/app.js": `const button = document.querySelector('button'), cover = document.querySelector('div');
			button.addEventListener('click', () => { document.querySelector('p').textContent = 'clicked'; });
			cover.addEventListener('click', () => { document.querySelector('p').textContent = 'missed'; });
			setTimeout(() => { button.disabled = false; setTimeout(() => { cover.remove(); }, 100); }, 100);`,
	})
	tab := browsertest.New(t)
	tab.Open(url)
	tab.Click("button")
	tab.WaitText("p", "clicked")
}
