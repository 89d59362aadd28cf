package kernel

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The last read of a row wins in any order of arrival: no transaction undoes another's change in one commit.
func TestWorkerCacheKeepsTheNewestLook(t *testing.T) {
	t.Parallel()
	var c workerCache
	old, broken := &task.Worker{No: 1, ID: task.ID{1}}, &task.Worker{No: 1, ID: task.ID{1}, BrokenAt: 7}
	first, second := c.nextVersion(), c.nextVersion()
	if before, newest := c.put(broken, 10, second); before != nil || !newest {
		t.Errorf("the first to come found %+v before, %v", before, newest)
	}
	if before, newest := c.put(old, 11, first); before != broken || newest {
		t.Errorf("an older version found %+v before, %v", before, newest)
	}
	if got := c.get(old.ID, 12, forEver); got != broken {
		t.Errorf("the worker is taken for %+v", got)
	}
	if _, newest := c.put(old, 13, c.nextVersion()); !newest || c.get(old.ID, 14, forEver) != old {
		t.Error("a newer version does not count")
	}

	// read while an uncommitted change exists
	before, change := c.version(old.ID), c.nextVersion()
	if !c.read(old, 15, before) {
		t.Error("what was read is not kept")
	}
	if _, newest := c.put(broken, 15, change); !newest || c.get(old.ID, 16, forEver) != broken {
		t.Error("what was read hides the change")
	}
	if c.read(old, 17, before) || c.get(old.ID, 17, forEver) != broken {
		t.Error("what was read before undoes the change")
	}
}
