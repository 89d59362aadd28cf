package incident

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/taskerhq/tasker/deadletters"
)

// Summary is the outcome of an incident, computed from what the application and the inbox say, and not from what the
// story meant to happen.
type Summary struct {
	Letters  int     `json:"letters"`  // in the inbox
	Groups   int     `json:"groups"`   // of their failures
	Redriven int     `json:"redriven"` // letters that were sent back and did not return
	Returned int     `json:"returned"` // deaths of letters after they were sent back
	Lost     int     `json:"lost"`     // reports that are neither imported nor in the inbox; must be 0
	Twice    int     `json:"sent_twice"`
	Seconds  float64 `json:"seconds"` // from the first report until the last one was imported
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

// check compares what the application received and stored with what the inbox says of the same messages. Groups are
// counted whether they are open or not: one for each cause.
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
	// Report by report, and not letter by letter: a report without a letter could be lost.
	for i := range n.rows {
		n.checkMessage(&s, messageID(n.rows[i]), known[messageID(n.rows[i])])
	}
	return s, nil
}

// letters returns all letters of the application, page by page, newest first.
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

// checkMessage adds up one report. letters are those that the inbox has of it: one, unless Tasker is wrong. A report is
// lost if it is neither stored by the application nor held by the inbox. It was sent twice if it was delivered more
// often than it was sent, or stored more than once.
func (n *night) checkMessage(s *Summary, message string, letters []deadletters.Letter) {
	sends, held := 1, false // the airport has sent it once
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
