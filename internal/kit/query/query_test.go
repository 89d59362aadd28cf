package query_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/kit/query"
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
	IDs    []uuid.UUID `query:"id"`
	After  time.Time   `query:"after"`
	Since  *time.Time  `query:"since"`
	Task   uuid.UUID   `query:"task"`
	Below  int64       `query:"below"`
	Parked *bool       `query:"parked"`
}

func TestOf(t *testing.T) {
	t.Parallel()
	if got := query.Of(filter{Path: "p"}); len(got) != 0 {
		t.Errorf("zero fields are sent: %v", got)
	}
	got := query.Of(filter{Name: "a b", States: []state{"x", "y"}, Open: true, page: page{Limit: -1},
		IDs: []uuid.UUID{uuid.Max}, After: time.Unix(0, 1), Since: &time.Time{}, Task: uuid.Max, Below: 7, Parked: new(bool)})
	if want := "after=1970-01-01T00%3A00%3A00.000000001Z&below=7&id=ffffffff-ffff-ffff-ffff-ffffffffffff&limit=-1&name=a+b" +
		"&open_only=true&parked=false&since=0001-01-01T00%3A00%3A00Z&state=x&state=y" +
		"&task=ffffffff-ffff-ffff-ffff-ffffffffffff"; url.Values(got).Encode() != want {
		t.Errorf("got %s, want %s", url.Values(got).Encode(), want)
	}
}
