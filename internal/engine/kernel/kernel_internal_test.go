package kernel

import (
	"strings"
	"testing"
)

func TestEqualRanks(t *testing.T) {
	for _, double := range []Feature{
		{Stages: []Stage{{Rank: rankRows, Name: "a"}, {Rank: rankRows, Name: "b"}}},
		{After: []FollowUp{{Rank: afterQueue, Name: "a"}, {Rank: afterQueue, Name: "b"}}},
	} {
		_, err := newPoints([]Feature{double})
		if err == nil || !strings.Contains(err.Error(), "a and b have the same rank") {
			t.Errorf("two stages of one rank: %v", err)
		}
	}
}
