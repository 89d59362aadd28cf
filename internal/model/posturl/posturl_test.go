package posturl_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/posturl"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://h":                      "http://h/",
		"HTTP://H.Example:80/a":         "http://h.example/a",
		"https://h.:443/a/":             "https://h/a/",
		"https://h:80/a?b=c":            "https://h:80/a?b=c",
		"http://[::1]:8080/a":           "http://[::1]:8080/a",
		"http://h/%7Eann/%61%3b?x":      "http://h/~ann/a%3B?x",
		"http://xn--bcher-kva.example/": "http://xn--bcher-kva.example/",
		"http://10.0.0.1/a:b@c,d;v=1/e": "http://10.0.0.1/a:b@c,d;v=1/e",
		"http://h/a%20b":                "http://h/a%20b",
		"http://h/a.b/...c":             "http://h/a.b/...c",
	} {
		u, fault := posturl.Parse(text)
		if fault != "" || u.Net().String() != want {
			t.Errorf("%s is read as %v %s, want %s", text, u, fault, want)
		}
	}
}

// ambiguous are destinations that could leave the prefix http://h/replay/ for some reader.
var ambiguous = map[string]string{
	"":                             "must be a URL",
	"orders":                       "must be a URL",
	"ftp://h/replay/a":             "must be a URL",
	"http:h/replay/a":              "must be a URL",
	"http:///replay/a":             "must be a URL",
	"//h/replay/a":                 "must be a URL",
	"http://h:x/replay/":           "must be a URL",
	"http://h:0/replay/":           "must have a port",
	"http://h:/replay/":            "must have a port",
	"http://h:65536/":              "must have a port",
	"http://u@h/replay/":           "must not have a user",
	"http://h:1@evil:2/":           "must not have a user",
	"http://h\\@evil/replay/":      "must not have a backslash",
	"http://h/replay/../admin":     "must not have dot segments",
	"http://h/replay/.":            "must not have dot segments",
	"http://h/replay/%2e%2E/admin": "must not have dot segments",
	"http://h/replay/%2e./admin":   "must not have dot segments",
	"http://h/replay/..%20/admin":  "must not have dot segments",
	"http://h/replay/.../admin":    "must not have dot segments",
	"http://h/replay/;/../admin":   "must not have parameters",
	"http://h/replay/..;/admin":    "must not have dot segments",
	"http://h/replay/..;a=b/admin": "must not have dot segments",
	"http://h/replay/..%3b/admin":  "must not have dot segments",
	"http://h/replay/a;../admin":   "must not have parameters",
	"http://h/replay/a%2fb":        "must not have an encoded slash",
	"http://h/replay/..%2fadmin":   "must not have an encoded slash",
	"http://h/replay/..%5cadmin":   "must not have an encoded slash",
	"http://h/replay/%252e%252e/a": "must not have an encoded slash",
	"http://h/replay/%c0%ae/a":     "must have a path of UTF-8",
	"http://h/replay/%00":          "must not have control characters",
	"http://h/replay/a%0d%0ab":     "must not have control characters",
	"http://h/replay/%zz":          "must be a URL",
	"http://h/replay//a":           "must not have an empty segment",
	"http://h//evil/a":             "must not have an empty segment",
	"http://h/replay/#a":           "must not have a fragment",
	"http://h/replay/#":            "must not have a fragment",
	"http://h/replay/a b":          "must be printable ASCII",
	"http://h/replay/\n":           "must be printable ASCII",
	"http://h/replay/é":            "must be printable ASCII",
	"http://\u212A/replay/a":       "must be printable ASCII", // the Kelvin sign, a k in lower case
	"http://h..x/replay/":          "must have a host",
	"http://h*/replay/":            "must have a host",
	"http://h%65/replay/":          "must be a URL",
	"http://[fe80::1%25en0]/":      "must have an IPv6 address",
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range ambiguous {
		if u, fault := posturl.Parse(text); u != nil || !strings.HasPrefix(fault, want) {
			t.Errorf("%q is read as %v, %q, want %q", text, u, fault, want)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for target, c := range map[string]struct{ allowed, others string }{
		"http://h/replay": {"http://h/replay HTTP://H:80/replay http://h./%72eplay",
			"http://h/replay/ http://h/replay?a https://h/replay http://h:81/replay http://h/Replay http://h.evil/replay"},
		"http://h/replay/": {"http://h/replay/", "http://h/replay http://h/replay/a"},
		"http://h/replay/*": {"http://h/replay/ http://h/replay/a http://h/replay/a/b/ http://h/replay/*",
			"http://h/replay http://h/replay-2/a http://h/a http://h/replay/a?b http://h:8/replay/a"},
		"http://h/replay*": {"http://h/replay http://h/replay-2 http://h/replay*",
			"http://h/replay/ http://h/replay-2/a http://h/rep http://h/replay?a"},
		"https://h:8443/*":       {"https://h:8443 https://h:8443/a/b", "https://h/ http://h:8443/ https://h:8444/"},
		"http://h/replay?a=1":    {"http://h/replay?a=1", "http://h/replay http://h/replay?a=12 http://h/replay?A=1"},
		"http://h/replay?":       {"http://h/replay?", "http://h/replay http://h/replay?a"},
		"http://h/replay?job=*":  {"http://h/replay?job= http://h/replay?job=7&a=b", "http://h/replay http://h/replay?jo"},
		"http://h/replay?*":      {"http://h/replay? http://h/replay?a=b", "http://h/replay http://h/replay/a?b"},
		"http://h/a%3bb/%7e*":    {"http://h/a%3Bb/~ann", "http://h/a;b/~ann"},
		"http://[::1]:8080/in/*": {"http://[::1]:8080/in/a", "http://[::2]:8080/in/a"},
	} {
		of, fault := posturl.ParseTarget(target)
		if fault != "" {
			t.Errorf("%s %s", target, fault)
			continue
		}
		for _, list := range []struct {
			urls string
			want bool
		}{{c.allowed, true}, {c.others, false}} {
			for text := range strings.FieldsSeq(list.urls) {
				u, fault := posturl.Parse(text)
				if fault != "" {
					t.Errorf("%s %s", text, fault)
				} else if of.Allows(u) != list.want {
					t.Errorf("%s allows %s: %t", target, text, !list.want)
				}
			}
		}
	}
	for target, want := range map[string]string{"http://*": "must name its host", "https://*": "must name its host",
		"http://h*": "must name its host", "http://h:8*": "must name its host", "*": "must be a URL",
		"http*": "must be a URL", "http://h/*/a*": "may have one *", "http://h/a/../*": "must not have dot",
		"http://*/a": "must have a host", "http://u:p@h/*": "must not have a user", "http://h/%2*": "must be a URL"} {
		if _, fault := posturl.ParseTarget(target); !strings.HasPrefix(fault, want) {
			t.Errorf("the target %s: %q, want %q", target, fault, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"orders":                "orders",
		"a@b":                   "a@b",
		"http://h/a@b":          "http://h/a@b",
		"http://h/?q=a@b":       "http://h/?q=a@b",
		"http://u:p@h/a?b":      "http://xxxxx@h/a?b",
		"http://u:p@h/a@b/*":    "http://xxxxx@h/a@b/*",
		"http://token@h":        "http://xxxxx@h",
		"http://u:p@q@h/":       "http://xxxxx@h/",
		"http://u:p/w@h/a":      "http://xxxxx@h/a",
		"http://u:%zz@h/a":      "http://xxxxx@h/a",
		"exchange:orders/#.a@b": "exchange:orders/#.a@b",
	} {
		if got := posturl.Redact(text); got != want || posturl.HasUser(text) != (got != text) {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

// FuzzAllowed: net/http requests an allowed URL from the host of the target, at or below its path, and no reader
// that decodes or cleans the path finds it elsewhere.
func FuzzAllowed(f *testing.F) {
	for text := range ambiguous {
		f.Add("http://h/replay/*", text)
	}
	f.Add("https://H.:443/a%7e/b*", "https://h/a~/bc;d=e?f")
	f.Add("http://h/replay?job=*", "http://h/replay?job=1#2")
	f.Fuzz(func(t *testing.T, target, destination string) {
		of, fault := posturl.ParseTarget(target)
		u, fault2 := posturl.Parse(destination)
		if fault != "" || fault2 != "" || !of.Allows(u) {
			return
		}
		begin, _ := posturl.Parse(strings.TrimSuffix(target, "*"))
		r, err := http.NewRequest(http.MethodPost, u.Net().String(), http.NoBody)
		if err != nil {
			t.Fatalf("%q is allowed and cannot be requested: %v", destination, err)
		}
		want, got := begin.Net(), r.URL
		plain := got.Path
		for range 3 {
			if strings.Contains(plain+"/", "/../") || strings.Contains(plain+"/", "/./") || strings.Contains(plain, `\`) {
				t.Errorf("%q is allowed by %q; its path is %q", destination, target, plain)
			}
			plain = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", `\`, ";", "/").Replace(plain)
		}
		if got.Scheme != want.Scheme || got.Host != want.Host || got.User != nil || r.Host != want.Host ||
			!strings.HasPrefix(got.EscapedPath(), want.EscapedPath()) || !strings.HasPrefix(got.RawQuery, want.RawQuery) {
			t.Errorf("%q is allowed by %q and requests %s", destination, target, got)
		}
		again, fault := posturl.Parse(got.String())
		if fault != "" || again.Net().String() != got.String() {
			t.Errorf("%q is requested as %s, which is read as %v %s", destination, got, again, fault)
		}
	})
}
