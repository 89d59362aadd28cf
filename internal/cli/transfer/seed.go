package transfer

import "github.com/taskerhq/tasker/internal/model/task"

// seedKey is the key of the row of tasker_meta with the seed of a SQLite file.
const seedKey = "id_seed"

// seeds are the seeds from which every added ID can be rebuilt. SQLite stores only the
// sequence of an ID, so all IDs of a file must come from one seed.
// Only the first ID is costly; each further one compares a handful of seeds.
type seeds struct {
	seen bool
	left []uint64
}

// add removes the seeds that do not fit an ID, and reports whether any is left.
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

// allow reports whether a file with this seed can hold the IDs that were added.
// Without any ID every seed is allowed.
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

// rebuilds reports whether a seed gives an ID for its sequence.
func rebuilds(seed uint64, id task.ID) bool { return task.NewSource(seed, 0).ID(id.Seq()) == id }

// seedsOf returns the seeds that give an ID its low bits: four, because the ID lacks two of the
// 64 bits that the seed is mixed into; none for an ID that Tasker did not make.
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

// unmix is the inverse of SplitMix64's finalizer, which mixes seed and sequence. The factors
// are the inverses modulo 2^64 of SplitMix64's.
func unmix(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
	x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
	return (x ^ x>>30 ^ x>>60) - 0x9e3779b97f4a7c15
}
