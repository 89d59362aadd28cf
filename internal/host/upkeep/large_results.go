package upkeep

import "time"

// largeResultsInterval is the interval at which large results are deleted that nothing refers to. Looking for them
// costs a look at the list of all.
const largeResultsInterval = 5 * time.Minute

// largeResults deletes large results that nothing refers to.
func (u *Upkeep) largeResults() Loop {
	return Loop{Name: "large_results", Every: largeResultsInterval, Polite: true, Once: u.engine.SweepLargeResults}
}
