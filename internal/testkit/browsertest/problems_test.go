package browsertest

import (
	"slices"
	"testing"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ found, expected, want []string }{
		{},
		{found: []string{"console: a"}, want: []string{"console: a"}},
		{found: []string{"console: a", "status 500"}, expected: []string{"500"}, want: []string{"console: a"}},
		{found: []string{"console: a"}, expected: []string{"console", ": a"}},
		{expected: []string{"500"}, want: []string{`a problem with "500" was expected, and did not come`}},
	} {
		p := problems{found: c.found, expected: c.expected}
		if got := p.verdict(); !slices.Equal(got, c.want) {
			t.Errorf("found %q, expected %q: %q, want %q", c.found, c.expected, got, c.want)
		}
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	var p problems
	p.allow("http://127.0.0.1:8080/page")
	for address, want := range map[string]bool{
		"http://127.0.0.1:8080/x": false, "data:,": false, "about:blank": false, "blob:http://127.0.0.1:8080/1": false,
		"http://127.0.0.1:8081/": true, "https://elsewhere.example/": true, "://": true,
	} {
		if got := p.foreign(address); got != want {
			t.Errorf("%s is foreign: %v, want %v", address, got, want)
		}
	}
}
