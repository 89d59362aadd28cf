package engine

// A poll answers with the contexts of tasks and the results of parents, and bounds their bytes like a page of a list.
// Their size is known only once they are read, so the mean size of earlier ones decides how many are read.

// payload is the number of bytes that a worker receives with a step.
func (l *Lease) payload() int {
	n := len(l.Task.Context) + len(l.Checkpoint)
	for _, result := range l.ParentResults {
		n += len(result)
	}
	return n
}

// fit is how many steps of these routes are likely to fit a number of bytes: at least one.
func (s *servedRoutes) fit(bytes int) int {
	mean := int(s.meanPayload.Load())
	if mean == 0 {
		return maxFit
	}
	return max(bytes/mean, 1)
}

// maxFit is fit without a bound.
const maxFit = 1 << 30

// within splits leases into those whose payloads fit a number of bytes, at least the first one, and the rest. It
// records their sizes.
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
