package query_test

import (
	"net/url"
	"testing"

	"github.com/taskerhq/tasker/internal/query"
)

type state string

type page struct {
	Limit int `query:"limit"`
}

type filter struct {
	Name   string  `query:"name"`
	States []state `query:"state,explode"`
	Open   bool    `query:"open_only"`
	Path   string  `path:"path"`
	page
}

func TestOf(t *testing.T) {
	t.Parallel()
	if got := query.Of(filter{Path: "p"}); len(got) != 0 {
		t.Errorf("zero fields are sent: %v", got)
	}
	got := query.Of(filter{Name: "a b", States: []state{"x", "y"}, Open: true, page: page{Limit: -1}})
	if want := "limit=-1&name=a+b&open_only=true&state=x&state=y"; url.Values(got).Encode() != want {
		t.Errorf("got %s, want %s", url.Values(got).Encode(), want)
	}
}
