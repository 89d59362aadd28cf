package engine

// A poll answers with the contexts of tasks and the results of parents, and has a bound
// for them as a page of a list has. How large they are is known once they are read; so the
// size of those that came before says how many are asked for.

// payload is how many bytes a worker is sent with a step.
func (l *Lease) payload() int {
	n := len(l.Task.Context)
	for _, result := range l.ParentResults {
		n += len(result)
	}
	return n
}

// fit is how many steps of these routes are likely to fit so many bytes: one at least.
func (s *servedRoutes) fit(bytes int) int {
	mean := int(s.meanPayload.Load())
	if mean == 0 {
		return maxFit
	}
	return max(bytes/mean, 1)
}

// maxFit is fit without a bound.
const maxFit = 1 << 30

// within cuts leases into those whose payloads fit so many bytes, the first one in any case,
// and the rest. It notes how large they are.
func (s *servedRoutes) within(leases []Lease, bytes int) (kept, rest []Lease) {
	size := 0
	kept = leases
	for i := range leases {
		n := leases[i].payload()
		if size += n; size > bytes && i > 0 && rest == nil {
			kept, rest = leases[:i], leases[i:]
		}
	}
	if len(leases) > 0 {
		mean := int64(size / len(leases))
		if was := s.meanPayload.Load(); was > 0 {
			mean = (3*was + mean) / 4
		}
		s.meanPayload.Store(mean)
	}
	return kept, rest
}
