package template

import (
	"time"

	"github.com/taskerhq/tasker/internal/kit/document"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/limit"
)

func (r *reader) concurrency(v *document.Node) *limit.Spec {
	if v == nil {
		return nil
	}
	f, ok := r.open(v, "concurrency")
	if !ok || f.need("limit") == nil {
		return nil
	}
	return &limit.Spec{Key: f.key(), Permits: f.whole("limit", 1, limit.MaxPermits)}
}

// rateLimit: the burst defaults to the limit.
func (r *reader) rateLimit(v *document.Node) *limit.Spec {
	if v == nil {
		return nil
	}
	f, ok := r.open(v, "rate_limit")
	if !ok || f.need("limit") == nil || f.need("per") == nil {
		return nil
	}
	rate := limit.Rate{Count: f.whole("limit", 1, limit.MaxCount), Burst: f.whole("burst", 1, limit.MaxBurst)}
	if f.get("burst") == nil {
		rate.Burst = rate.Count
	}
	per := f.get("per")
	text := f.text("per", per)
	var err error
	if rate.Per, err = time.ParseDuration(text); text != "" && err != nil {
		f.report(per.At, "per must be a duration like 1s or 5m, not %s", wording.Quoted(text))
	}
	if fault := rate.Fault(); fault != "" && err == nil && rate.Count > 0 && rate.Burst > 0 {
		f.report(v.At, "rate_limit is not valid: %s", fault)
	}
	return &limit.Spec{Key: f.key(), Rate: rate}
}

func (f fields) key() string {
	v := f.get("key")
	s := f.text("key", v)
	if _, err := limit.ParseKey(s); err != nil {
		f.report(v.At, "key %v", err)
		return ""
	}
	return s
}
