package incident

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/taskerhq/tasker/deadletters"
)

// Summary is the outcome of an incident, by the application and the inbox, not by the story.
type Summary struct {
	Letters  int     `json:"letters"`  // in the inbox
	Groups   int     `json:"groups"`   // of their failures
	Redriven int     `json:"redriven"` // letters sent back without a return
	Returned int     `json:"returned"` // deaths after a redrive
	Lost     int     `json:"lost"`     // reports neither imported nor in the inbox; must be 0
	Twice    int     `json:"sent_twice"`
	Seconds  float64 `json:"seconds"` // from the first report to the last import
}

// Sound reports whether nothing was lost and nothing was sent twice.
func (s Summary) Sound() bool { return s.Lost == 0 && s.Twice == 0 }

// JSON returns the summary as one line, without a newline.
func (s Summary) JSON() ([]byte, error) {
	line, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode summary: %w", err)
	}
	return line, nil
}

// check compares the application's deliveries and imports with the inbox. Groups count in any state, one per cause.
func (n *night) check(ctx context.Context, seconds float64) (Summary, error) {
	s := Summary{Seconds: math.Round(seconds*1000) / 1000}
	page, err := n.inbox.Groups(ctx, deadletters.GroupFilter{Limit: 1000})
	if err != nil {
		return s, err
	}
	s.Groups = len(page.Groups)
	letters, err := n.letters(ctx)
	if err != nil {
		return s, err
	}
	known := map[string][]deadletters.Letter{}
	for _, l := range letters {
		known[l.MessageID] = append(known[l.MessageID], l)
	}
	s.Letters = len(letters)
	// Iterate over reports, because a report without a letter could be lost.
	for i := range n.rows {
		n.checkMessage(&s, messageID(n.rows[i]), known[messageID(n.rows[i])])
	}
	return s, nil
}

func (n *night) letters(ctx context.Context) ([]deadletters.Letter, error) {
	filter := deadletters.LetterFilter{Selection: deadletters.Selection{Source: sourceName}, Limit: 1000}
	var all []deadletters.Letter
	for {
		page, err := n.inbox.Letters(ctx, filter)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Letters...)
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return all, nil
		}
	}
}

// checkMessage adds up one report; letters are its letters, at most one in a correct inbox. A report is lost if
// neither imported nor held. It is doubled if it was delivered more often than sent, or stored more than once.
func (n *night) checkMessage(s *Summary, message string, letters []deadletters.Letter) {
	sends, held := 1, false // the airport sent it once
	for _, l := range letters {
		sends += l.Replays
		s.Returned += l.Occurrences - 1
		switch l.State {
		case deadletters.LetterRedriven:
			s.Redriven++
		case deadletters.LetterDiscarded:
		default:
			held = true
		}
	}
	stored := n.app.registry.times(message)
	if stored == 0 && !held {
		s.Lost++
	}
	s.Twice += max(n.app.deliveries(message)-sends, stored-1, 0)
}
