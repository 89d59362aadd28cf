package deadletter

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Explanation says in sentences how a letter or a redrive came to its state.
type Explanation struct {
	Summary string
	Why     []string
	Next    string
}

const maxQuoted = 200

// ExplainLetter explains a letter. s is nil for a removed source, p for an origin without a policy.
func ExplainLetter(l *Letter, s *Source, p *Policy) Explanation {
	e := Explanation{Why: []string{died(l)}}
	e.addIf(l.Undecoded != "", "It could not be decoded, and is kept as raw bytes: "+l.Undecoded+".")
	e.addIf(l.Replays > 0, "It has been sent back "+times(l.Replays)+".")
	e.addIf(l.Unknown, "The outcome of its last send is not known: it may have arrived, or not. It counts as not sent. "+
		"The next send has the same number, by which a consumer can drop a second copy.")
	e.addIf(l.Link.Kind == LinkHeader, "It carries the headers of a send of the letter "+l.Link.Letter.String()+
		", and is another message: its consumer has changed it, or copies headers to what it publishes.")
	e.addIf(l.Link.Kind == LinkID, "The letter "+l.Link.Letter.String()+" of the same source has the same message ID. "+
		"They are kept apart, because nothing proves that they are one message.")
	e.addIf(l.Link.Kind == LinkContent, "It was sent as the letter "+l.Link.Letter.String()+", without a confirmation, "+
		"and an equal message without an ID died meanwhile. If that was the one that was sent, this letter is one too many.")
	e.addIf(l.Lineage > 0, "It continues letters that have been sent back "+times(l.Lineage)+", which counts for it, too.")
	e.addIf(l.FailedSends > 0, "Its policy has tried to send it "+times(l.FailedSends)+" since, and failed.")
	e.addIf(l.Edited != nil, "An edit is sent instead of its original, which is kept.")
	e.addIf(l.Cut, "An early version of Tasker has kept its beginning only: "+WhyCut+".")
	switch l.State {
	case model.LetterOpen:
		e.open(l, s, p)
	case model.LetterScheduled:
		e.Summary = "A policy sends the letter back at " + at(l.Due) + "."
		e.Next = "Nothing needs to be done. To prevent it: tasker letter discard " + l.ID.String() + "."
	case model.LetterRedriving:
		e.Summary = sender(l, "is sending the letter back") + ", since " + at(l.StateAt) + "."
		e.Next = "It counts as sent when that is confirmed. Without an answer, and if its node stops before, it is sent " +
			"again under the same number until the outcome is known."
	case model.LetterRedriven:
		e.Summary = sender(l, "sent the letter back") + " at " + at(l.StateAt) + ", and it has not come back since."
		e.Next = "If it dies again, the same letter opens again. Otherwise it is deleted at " + at(l.PurgeAt) + ". tasker " +
			"letter restore " + l.ID.String() + " opens it to send it once more."
	case model.LetterDiscarded:
		e.Summary = "The letter was discarded at " + at(l.StateAt) + ": " + l.Reason + "."
		e.Next = "tasker letter restore " + l.ID.String() + " opens it again, until it is deleted at " + at(l.PurgeAt) + "."
	}
	return e
}

func (e *Explanation) open(l *Letter, s *Source, p *Policy) {
	e.Summary = "The letter waits for an operator. It never expires."
	send := "tasker redrive start --namespace " + l.Namespace + " --id " + l.ID.String()
	switch {
	case s == nil:
		e.Why = append(e.Why, "Its source "+l.Source+" has been removed, so nothing can send it back.")
		e.Next = "Add the source again, or give the letter up: tasker letter discard " + l.ID.String() + "."
		return
	case l.Parked:
		e.Summary = "The letter is parked: it came back too often. It never expires."
		e.Why = append(e.Why, "A letter of its source is parked when it was sent back "+times(p.Parks(s.MaxReplays))+
			"; neither its policy nor an operation on many takes it.")
		send += " --include-parked"
	case p == nil:
		e.Why = append(e.Why, "No policy applies to its origin.")
	case p.Strategy == model.Manual:
		e.Why = append(e.Why, "The policy of its origin leaves letters to an operator.")
	case l.Reason != "":
		e.Why = append(e.Why, "Its policy left it to an operator: "+l.Reason+".")
	}
	e.Next = "Fix the cause, then send it back: " + send + ". Or give it up: tasker letter discard " + l.ID.String() + "."
}

// ExplainRedrive needs the Counts of r.
func ExplainRedrive(r *Redrive) Explanation {
	e := Explanation{}
	if r.State != model.RedriveDraft {
		e.Why = append(e.Why, progress(r))
	}
	c := r.Counts
	e.addIf(c.Returned > 0, fmt.Sprintf("%d of the items that were sent died again.", c.Returned))
	e.addIf(c.Failed > 0, fmt.Sprintf("%d items could not be sent or changed; they are as they were before.", c.Failed))
	e.addIf(c.Skipped > 0, fmt.Sprintf("%d items were left out, because they had changed since the freeze.", c.Skipped))
	e.addIf(c.Unknown > 0, fmt.Sprintf("%d items may have arrived, or not: no answer came. They are sent again under the "+
		"same numbers until that is known, and count as failed until then.", c.Unknown))
	e.addIf(c.Uncertain > 0, fmt.Sprintf("%d items had a try without an answer: what was sent may be there twice, under "+
		"the same number; what failed may be there once.", c.Uncertain))
	id := r.ID.String()
	switch r.State {
	case model.RedriveDraft:
		e.Summary = fmt.Sprintf("The redrive is a draft with %d items, frozen at %s.", r.Total, at(r.FrozenAt))
		e.Next = "tasker redrive start " + id + " starts it."
	case model.RedriveRunning:
		e.Summary = fmt.Sprintf("Wave %d is under way: %d of its %d items are decided.", r.Wave, r.WaveSent, r.WaveSize)
		e.Next = "After the wave it observes " + r.Plan.Observe.String() + ". tasker redrive pause " + id + " stops it."
		if r.Plan.Observe <= 0 {
			e.Next = "The next wave follows at once. tasker redrive pause " + id + " stops it."
		}
	case model.RedriveObserving:
		e.Summary = fmt.Sprintf("Wave %d is sent, and the redrive observes what comes back until %s.", r.Wave,
			at(r.StateAt.Add(r.Plan.Observe)))
		e.Next = "Then the next wave begins, or the redrive ends, unless the stop rule halts it: " + r.Stop.text() + "."
	case model.RedrivePaused:
		e.Summary = "An operator has paused the redrive at " + at(r.StateAt) + "."
		e.Next = "tasker redrive resume " + id + " continues, tasker redrive cancel " + id + " ends it."
	case model.RedriveHalted:
		e.Summary = "The stop rule has halted the redrive at " + at(r.StateAt) + ": " + r.Halt + "."
		look := "Look at what came back: tasker redrive report " + id + " --state returned."
		if r.Counts.Returned == 0 && r.Counts.Failed > 0 {
			look = "Look at what could not be sent: tasker redrive report " + id + " --state failed."
		}
		e.Next = look + " When the cause is fixed, " +
			"tasker redrive resume " + id + " continues; tasker redrive cancel " + id + " leaves the rest as it is."
	case model.RedriveDone:
		e.Summary = "The redrive has ended at " + at(r.EndedAt) + "."
		e.Next = "Letters that come back from now on open again. tasker redrive report " + id + " lists the results."
	case model.RedriveCancelled:
		e.Summary = "The redrive was cancelled at " + at(r.EndedAt) + "."
		e.Next = "What was not sent is as it was before. tasker redrive report " + id + " lists the results."
	}
	return e
}

func (s StopRule) text() string {
	var rules []string
	if s.ReturnedShare > 0 {
		rules = append(rules, strconv.FormatFloat(100*s.ReturnedShare, 'f', -1, 64)+" % of a wave came back")
	}
	if s.SamePrint > 0 {
		rules = append(rules, strconv.Itoa(s.SamePrint)+" items came back with one cause")
	}
	if s.Failed > 0 {
		rules = append(rules, strconv.Itoa(s.Failed)+" sends of a wave failed, or have no known outcome")
	}
	if len(rules) == 0 {
		return "it has none"
	}
	return strings.Join(rules, ", or ")
}

func (e *Explanation) addIf(is bool, sentence string) {
	if is {
		e.Why = append(e.Why, sentence)
	}
}

func died(l *Letter) string {
	what := l.Failure.Type
	if message := failure.Cut(l.Failure.Message, maxQuoted); message != "" && what != "" {
		what += ": " + message
	} else {
		what += message
	}
	what = cmp.Or(what, "an error that its message does not tell")
	where := ""
	if l.Handler != "" {
		where = " in " + l.Handler
	}
	return "It died " + times(l.Occurrences) + ", last at " + at(l.LastAt) + where + ", of " + what + "."
}

func sender(l *Letter, does string) string {
	if l.Redrive.IsZero() {
		return "Its policy " + does
	}
	return "The redrive " + l.Redrive.String() + " " + does
}

func progress(r *Redrive) string {
	return fmt.Sprintf("%d of %d items are decided: %d sent, %d returned, %d completed, %d failed, %d skipped.",
		r.Counts.Decided(), r.Total, r.Counts.Sent, r.Counts.Returned, r.Counts.Completed, r.Counts.Failed, r.Counts.Skipped)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func at(t task.Instant) string { return t.Time().UTC().Format(time.RFC3339) }
