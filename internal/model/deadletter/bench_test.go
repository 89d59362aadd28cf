package deadletter_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func BenchmarkCanonical(b *testing.B) {
	c := deadletter.Content{Payload: []byte(`{"order":12345678901234567890,"items":[` +
		strings.Repeat(`{"sku":"A-1","price":19.90,"name":"bird \u00e9"},`, 20) + `null],"paid":true}`)}
	b.SetBytes(int64(len(c.Payload)))
	b.ReportAllocs()
	for range b.N {
		deadletter.Canonical(c)
	}
}
