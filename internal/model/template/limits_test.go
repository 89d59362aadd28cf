package template_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestParseLimits(t *testing.T) {
	t.Parallel()
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		yaml string
		want task.ClassLimits
	}{
		{"retry: {limits:}", task.ClassLimits{}},
		{"retry: {limits: {}}", task.ClassLimits{}},
		{"retry: {limits: {logic: 0, transient: 999}}", task.ClassLimits{Logic: n(0), Transient: n(999)}},
		{"retry: {limits: {resource: 1, worker: 2, logic: }}", task.ClassLimits{Resource: n(1), Worker: n(2)}},
	} {
		if diff := cmp.Diff(c.want, parse(t, doc(c.yaml)).Steps[0].Retry.Limits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.yaml, diff)
		}
	}
}

// Limits are content; a template without any keeps its old fingerprint.
func TestFingerprintOfLimits(t *testing.T) {
	t.Parallel()
	of := func(yaml string) string { return parse(t, doc(yaml)).Fingerprint }
	if of("retry: {}") != of("retry: {limits: {}}") {
		t.Error("limits that say nothing change the fingerprint")
	}
	if of("retry: {limits: {logic: 0}}") == of("retry: {}") ||
		of("retry: {limits: {logic: 0}}") == of("retry: {limits: {logic: 1}}") {
		t.Error("limits do not change the fingerprint")
	}
}
