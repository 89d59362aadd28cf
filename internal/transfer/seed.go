package transfer

import "github.com/taskerhq/tasker/internal/task"

// seedKey names the row of tasker_meta from which a SQLite file rebuilds its IDs.
const seedKey = "id_seed"

// seeds are those from which every ID that was seen can be rebuilt. SQLite keeps
// an ID as its sequence alone, so a copy into a file needs one.
type seeds struct {
	seen bool
	left []uint64
}

// add takes an ID in. It reports whether a seed is left.
func (s *seeds) add(id task.ID) bool {
	if !s.seen {
		s.seen, s.left = true, seedsOf(id)
		return len(s.left) > 0
	}
	left := s.left[:0]
	for _, seed := range s.left {
		if rebuilds(seed, id) {
			left = append(left, seed)
		}
	}
	s.left = left
	return len(left) > 0
}

// allow reports whether a file with this seed can hold what was seen.
func (s *seeds) allow(seed uint64) bool {
	if !s.seen {
		return true
	}
	for _, left := range s.left {
		if left == seed {
			return true
		}
	}
	return false
}

// pick returns a seed; 0 when any will do.
func (s *seeds) pick() uint64 {
	if len(s.left) == 0 {
		return 0
	}
	return s.left[0]
}

func rebuilds(seed uint64, id task.ID) bool { return task.NewSource(seed, 0).ID(id.Seq()) == id }

// seedsOf returns the seeds that give an ID its low bits: four, because two of
// the 64 bits that the seed is mixed into are not in the ID; none when it is no
// ID of Tasker.
func seedsOf(id task.ID) []uint64 {
	var found []uint64
	for top := range uint64(4) {
		seed := unmix(top<<62|id.Low()) ^ uint64(id.Seq())
		if rebuilds(seed, id) {
			found = append(found, seed)
		}
	}
	return found
}

// unmix reverses the finaliser of SplitMix64, which mixes seed and sequence.
// The factors are the inverses modulo 2^64 of those that it multiplies by.
func unmix(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
	x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
	return (x ^ x>>30 ^ x>>60) - 0x9e3779b97f4a7c15
}
