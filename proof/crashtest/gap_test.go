package crashtest_test

import (
	"testing"

	"github.com/taskerhq/tasker/proof/crashtest"
)

// TestGaps: acknowledged effects in a gap may be gone or not; earlier ones must exist.
func TestGaps(t *testing.T) {
	t.Parallel()
	t.Run("AllIsGone", func(t *testing.T) {
		t.Parallel()
		s := tell(t)
		s.WentBack(0)
		if v := crashtest.Check(s.Journal, nil); len(v.Violations) > 0 || v.Undone != 11 {
			t.Errorf("the verdict is %+v", v)
		}
	})
	t.Run("AllIsThere", func(t *testing.T) {
		t.Parallel()
		s := tell(t)
		s.WentBack(0)
		if v := crashtest.Check(s.Journal, s.found); len(v.Violations) > 0 || v.Undone != 0 {
			t.Errorf("the verdict is %+v", v)
		}
	})
	t.Run("WhatCameBeforeIsGone", func(t *testing.T) {
		t.Parallel()
		s := tell(t)
		s.WentBack(s.Now())
		if v := crashtest.Check(s.Journal, nil); v.Count(crashtest.Lost) == 0 {
			t.Errorf("tasks that were acknowledged before the gap are gone, and the verdict is %+v", v)
		}
	})
	t.Run("SettledTwiceBefore", func(t *testing.T) {
		t.Parallel()
		s := tell(t)
		for _, r := range s.Reports {
			if r.Verb == crashtest.VerbResult && r.Accepted() && r.Status == "completed" {
				s.Reports = append(s.Reports, r)
				break
			}
		}
		s.WentBack(0)
		if v := crashtest.Check(s.Journal, nil); v.Count(crashtest.SettledTwice) != 1 {
			t.Errorf("a step was settled twice before the database went back, and the verdict is %+v", v)
		}
	})
}
