package browsertest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// problems are the faults of pages. The goroutine that reads from the browser writes them.
type problems struct {
	mu       sync.Mutex
	found    []string
	expected []string
	hosts    []string // with ports
}

// Problems returns the faults of the tab's pages so far, in order, one line each. Faults after a click may come later.
func (b *Tab) Problems() []string {
	b.problems.mu.Lock()
	defer b.problems.mu.Unlock()
	return slices.Clone(b.problems.found)
}

// Expect declares problems with these parts. At its end they do not fail the test, but a missing one does.
func (b *Tab) Expect(parts ...string) {
	b.problems.mu.Lock()
	defer b.problems.mu.Unlock()
	b.problems.expected = append(b.problems.expected, parts...)
}

// verdict returns unexpected problems, and missing expected ones.
func (p *problems) verdict() (faults []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	came := map[string]bool{}
	for _, found := range p.found {
		known := false
		for _, part := range p.expected {
			if strings.Contains(found, part) {
				known, came[part] = true, true
			}
		}
		if !known {
			faults = append(faults, found)
		}
	}
	for _, part := range p.expected {
		if !came[part] {
			faults = append(faults, fmt.Sprintf("a problem with %q was expected, and did not come", part))
		}
	}
	return faults
}

func (p *problems) add(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

func (p *problems) allow(address string) {
	if u, err := url.Parse(address); err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hosts = append(p.hosts, u.Host)
	}
}

// foreign reports whether a request goes to another host. Data and blobs go nowhere.
func (p *problems) foreign(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	if u.Host == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.Contains(p.hosts, u.Host)
}

// listen runs in the goroutine that reads events, and must not wait for an answer.
func (b *Tab) listen(event any) {
	p := &b.problems
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.add("exception: %s", exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			p.add("console: %s", arguments(e.Args))
		}
	case *log.EventEntryAdded:
		// Network errors follow below, with the kind of request.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			p.add("%s: %s", e.Entry.Source, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if p.foreign(e.Request.URL) {
			p.add("request to another host: %s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 500 || e.Response.Status >= 400 && part(e.Type) {
			p.add("status %d of %s", e.Response.Status, e.Response.URL)
		}
	case *network.EventLoadingFailed:
		// A policy violation is in the log. Aborted or cancelled requests made way for the next page.
		if part(e.Type) && !e.Canceled && e.ErrorText != "net::ERR_ABORTED" && e.BlockedReason != network.BlockedReasonCsp {
			p.add("a %s does not load: %s", e.Type, e.ErrorText)
		}
	case *page.EventJavascriptDialogOpening:
		p.add("dialog: %s", e.Message)
		go func() { // an open dialog stops the page
			ctx, cancel := b.within()
			defer cancel()
			_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

// part reports whether a page requires the request. A document or an answer to a script may be a 404.
func part(kind network.ResourceType) bool {
	switch kind {
	case network.ResourceTypeStylesheet, network.ResourceTypeScript, network.ResourceTypeImage,
		network.ResourceTypeFont, network.ResourceTypeManifest:
		return true
	}
	return false
}

func exception(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil && d.Exception.Description != "" {
		text += " " + d.Exception.Description
	}
	return fmt.Sprintf("%s (%s:%d)", text, d.URL, d.LineNumber+1)
}

func arguments(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		switch {
		case a.Description != "":
			words = append(words, a.Description)
		case len(a.Value) > 0:
			words = append(words, strings.Trim(string(a.Value), `"`))
		default:
			words = append(words, string(a.Type))
		}
	}
	return strings.Join(words, " ")
}
