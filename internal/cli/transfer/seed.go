package transfer

import "github.com/taskerhq/tasker/internal/model/task"

// seedKey is the tasker_meta key of a SQLite file's seed.
const seedKey = "id_seed"

// seeds rebuild every added ID. SQLite stores only sequences, so all IDs of a file must come from one seed. Only
// the first ID is costly; each further one compares a handful of seeds.
type seeds struct {
	seen bool
	left []uint64
}

// add keeps the seeds that fit an ID, and reports whether any is left.
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

// Without IDs every seed is allowed.
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

// pick returns a fitting seed, 0 if every seed fits.
func (s *seeds) pick() uint64 {
	if len(s.left) == 0 {
		return 0
	}
	return s.left[0]
}

func rebuilds(seed uint64, id task.ID) bool { return task.NewSource(seed, 0).ID(id.Seq()) == id }

// seedsOf returns the four possible seeds of an ID, which lacks two of the 64 mixed bits; none for a foreign ID.
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

// unmix inverts SplitMix64's finalizer, which mixes seed and sequence; its factors are the inverses modulo 2^64.
func unmix(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
	x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
	return (x ^ x>>30 ^ x>>60) - 0x9e3779b97f4a7c15
}
