package incident

import (
	"testing"

	"github.com/taskerhq/tasker/deadletters"
)

func TestCheckFindsMistakes(t *testing.T) {
	t.Parallel()
	letter := func(state deadletters.LetterState, replays int) deadletters.Letter {
		return deadletters.Letter{MessageID: "m", State: state, Replays: replays, Occurrences: 1}
	}
	for name, c := range map[string]struct {
		letters            []deadletters.Letter
		delivered, stored  int
		lost, twice, again int
	}{
		"Redriven":             {[]deadletters.Letter{letter(deadletters.LetterRedriven, 1)}, 2, 1, 0, 0, 1},
		"Open":                 {[]deadletters.Letter{letter(deadletters.LetterOpen, 0)}, 1, 0, 0, 0, 0},
		"NoLetter":             {nil, 1, 0, 1, 0, 0},
		"RedrivenAndNotStored": {[]deadletters.Letter{letter(deadletters.LetterRedriven, 1)}, 1, 0, 1, 0, 1},
		"Discarded":            {[]deadletters.Letter{letter(deadletters.LetterDiscarded, 0)}, 1, 0, 1, 0, 0},
		"SentTwice":            {[]deadletters.Letter{letter(deadletters.LetterRedriven, 1)}, 3, 1, 0, 1, 1},
		"StoredTwice":          {[]deadletters.Letter{letter(deadletters.LetterRedriven, 2)}, 3, 2, 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &night{app: newApplication(nil)}
			for range c.delivered {
				n.app.note("m")
			}
			for range c.stored {
				if err := n.app.registry.store("m", strike{}); err != nil {
					t.Fatal(err)
				}
			}
			var s Summary
			n.checkMessage(&s, "m", c.letters)
			if s.Lost != c.lost || s.Twice != c.twice || s.Redriven != c.again {
				t.Errorf("lost %d, sent twice %d, redriven %d, want %d, %d, %d", s.Lost, s.Twice, s.Redriven, c.lost, c.twice,
					c.again)
			}
			if s.Sound() != (c.lost+c.twice == 0) {
				t.Errorf("sound: %v", s.Sound())
			}
		})
	}
}
