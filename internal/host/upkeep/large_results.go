package upkeep

import "time"

// largeResultsInterval is long, because a search reads the list of all large results.
const largeResultsInterval = 5 * time.Minute

// largeResults deletes unreferenced large results.
func (u *Upkeep) largeResults() Loop {
	return Loop{Name: "large_results", Every: largeResultsInterval, Polite: true, Once: u.engine.SweepLargeResults}
}
