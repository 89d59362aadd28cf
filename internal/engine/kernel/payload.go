package kernel

// A poll's answer is bounded in bytes. Sizes are known only after reading, so the mean of earlier ones decides how
// many steps are read.

func (l *Lease) payload() int {
	n := len(l.Task.Context) + len(l.Checkpoint)
	for _, result := range l.ParentResults {
		n += len(result)
	}
	return n
}

func (s *servedRoutes) fit(bytes int) int {
	mean := int(s.meanPayload.Load())
	if mean == 0 {
		return maxFit
	}
	return max(bytes/mean, 1)
}

const maxFit = 1 << 30

// within returns at least one lease, and records sizes.
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
