package task_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestLargeResultReference(t *testing.T) {
	t.Parallel()
	step, other := task.ID{1, 2, 3}, task.ID{1, 2, 4}
	l := task.NewLargeResult(step, 1<<40, 20<<20, sha256.Sum256([]byte("a")), 5)
	doc := l.Reference()
	if fault := task.JSONFault(doc, 1000); fault != "" {
		t.Fatal(fault, string(doc))
	}
	got := task.LargeResultOf(step, doc)
	if got == nil || got.Key != l.Key || got.Bytes != l.Bytes || got.SHA256 != l.SHA256 || got.Token != l.Token ||
		got.State != task.LargeTaken || len(l.Key) > 200 {
		t.Fatalf("%+v of %s", got, doc)
	}
	if task.LargeResultOf(other, doc) != nil {
		t.Error("a reference to an object of another step is one")
	}
	text := string(doc)
	for _, forged := range []string{"", "null", "1", `{"a":1}`, `{"$tasker:large_result":1}`, `{"$tasker:large_result":{}}`,
		text[:len(text)-1], strings.Replace(text, `"bytes":20971520`, `"bytes":0`, 1),
		strings.Replace(text, `"sha256":"ca`, `"sha256":"cb`, 1), strings.Replace(text, "/1", "/../1", 1),
		strings.Replace(text, "/1", "/x", 1), strings.ReplaceAll(text, l.SHA256, "ab")} {
		if l := task.LargeResultOf(step, []byte(forged)); l != nil {
			t.Errorf("%s is a reference: %+v", forged, l)
		}
	}
}
