package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

const patience = time.Minute

// Tab is a page in a separate window with separate cookies. Only its test uses it, from one goroutine. Selectors are
// CSS; of several elements the first is meant.
type Tab struct {
	t             testing.TB
	ctx           context.Context
	problems      problems
	width, height int
	dark          bool
}

// New opens a tab of 1280 by 800 pixels in light colours with reduced motion. It closes when t ends, which fails after
// problems. Start servers before, so that they end after the tab.
func New(t testing.TB) *Tab {
	t.Helper()
	browser, err := shared()
	testserver.OrSkip(t, err)
	tab := &Tab{t: t, width: 1280, height: 800}
	ctx, disconnect := remote.NewAllocator(context.Background(), browser.debugger, remote.NoModifyURL,
		remote.WithDialTimeout(patience))
	quiet := func(string, ...any) {} // events unknown to the library
	ctx, closeTab := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(tab.listen),
		chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	tab.ctx = ctx
	t.Cleanup(func() {
		tab.end()
		closeTab()
		disconnect()
	})
	// The connection lives as long as the context of the first call, so that has no deadline.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	tab.adjust()
	return tab
}

func (b *Tab) end() {
	// Events of the page come before the answer. If a page is stuck, the test has failed before.
	_, _ = evaluate[int](b, "1")
	for _, fault := range b.problems.verdict() {
		b.t.Error("browser: " + fault)
	}
}

func (b *Tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, patience)
}

// do carries a step out, or ends the test.
func (b *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.fatalf("%s: %v", what, err)
	}
}

func call[P, R any](b *Tab, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		b.fatalf("%s: %v", cmd.Method, err)
	}
	return r
}

// fatalf ends the test, with the tab's address and content.
func (b *Tab) fatalf(format string, args ...any) {
	b.t.Helper()
	shown, err := evaluate[string](b, "location.href + '\\n' + (document.body ? document.body.innerText : '')")
	if err != nil {
		shown = err.Error()
	}
	if len(shown) > 3000 {
		shown = shown[:3000] + "..."
	}
	b.t.Fatalf("browser: %s; the tab shows %s", fmt.Sprintf(format, args...), shown)
}

// Open goes to a URL and returns when the page has loaded. From then on requests to its host are allowed.
func (b *Tab) Open(url string) {
	b.t.Helper()
	b.problems.allow(url)
	b.do("open "+url, chromedp.Navigate(url))
}

// Reload loads the page again and returns when it has loaded.
func (b *Tab) Reload() {
	b.t.Helper()
	b.do("reload", chromedp.Reload())
}

// Back goes one page back in the history, without waiting.
func (b *Tab) Back() {
	b.t.Helper()
	b.Eval("history.back()", nil)
}

// URL returns the address of the page.
func (b *Tab) URL() string {
	b.t.Helper()
	return until[string](b, "the address", "location.href")
}

// Cookies returns the page's cookies, including those hidden from scripts.
func (b *Tab) Cookies() []*http.Cookie {
	b.t.Helper()
	var all []*http.Cookie
	for _, c := range call(b, network.GetCookies, network.GetCookiesParams{}).Cookies {
		cookie := &http.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Domain: c.Domain, Secure: c.Secure,
			HttpOnly: c.HTTPOnly}
		switch c.SameSite {
		case network.CookieSameSiteStrict:
			cookie.SameSite = http.SameSiteStrictMode
		case network.CookieSameSiteLax:
			cookie.SameSite = http.SameSiteLaxMode
		case network.CookieSameSiteNone:
			cookie.SameSite = http.SameSiteNoneMode
		}
		all = append(all, cookie)
	}
	return all
}

// SetSize sets the size of the page, in pixels.
func (b *Tab) SetSize(width, height int) {
	b.t.Helper()
	b.width, b.height = width, height
	b.adjust()
}

// SetDark says whether the viewer prefers dark colours.
func (b *Tab) SetDark(dark bool) {
	b.t.Helper()
	b.dark = dark
	b.adjust()
}

func (b *Tab) adjust() {
	b.t.Helper()
	scheme := "light"
	if b.dark {
		scheme = "dark"
	}
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(b.width), Height: int64(b.height), DeviceScaleFactor: 1,
	})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// Screenshot writes the page to a PNG file of a size in pixels, in light or dark colours, and restores the tab's size
// and colours.
func (b *Tab) Screenshot(path string, width, height int, dark bool) {
	b.t.Helper()
	w, h, d := b.width, b.height, b.dark
	b.width, b.height, b.dark = width, height, dark
	b.adjust()
	png := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data
	b.width, b.height, b.dark = w, h, d
	b.adjust()
	if err := os.WriteFile(path, png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
