package chain

import "fmt"

// Finding is the kind of a fault.
type Finding string

// The findings.
const (
	Changed     Finding = "changed"      // the act differs from the sealed one
	Removed     Finding = "removed"      // the act was sealed, or awaited its seal, and does not exist
	Inserted    Finding = "inserted"     // the act exists, was not sealed, and does not await its seal
	LinkChanged Finding = "link_changed" // the link does not follow from the one before
	LinkRemoved Finding = "link_removed" // a number is missing among the links
	// ArchiveForged: the chain starts behind an archive that no act of the chain made.
	ArchiveForged Finding = "archive_forged"
	HeadMissing   Finding = "head_missing" // the chain does not contain a noted head
)

// Fault is the first difference between a chain and its acts.
type Fault struct {
	Finding Finding
	Seq     int64 // of the link; 0 for an act without one
	Act     int64 // 0 if unknown
	Message string
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

// Verifier checks links in order, in constant memory.
type Verifier struct{ at Head }

// From returns a Verifier that starts behind a head.
func From(h Head) *Verifier { return &Verifier{h} }

// Head returns the head of the checked links.
func (v *Verifier) Head() Head { return v.at }

// Add checks the next link and its act, nil for a missing act. After a fault the Verifier stays where it was.
func (v *Verifier) Add(l *Link, a *Act) *Fault {
	fault := func(f Finding, format string, args ...any) *Fault {
		return &Fault{Finding: f, Seq: l.Seq, Act: l.Act, Message: fmt.Sprintf(format, args...)}
	}
	switch next := v.at.Seq + 1; {
	case l.Seq != next:
		return &Fault{Finding: LinkRemoved, Seq: next,
			Message: fmt.Sprintf("link %d was removed: link %d is followed by link %d", next, v.at.Seq, l.Seq)}
	case l.Sum(v.at.Hash) != l.Hash:
		return fault(LinkChanged, "link %d, of act %d, was changed: its hash does not follow from the link before it",
			l.Seq, l.Act)
	case a == nil:
		return fault(Removed, "act %d was removed: link %d has sealed it", l.Act, l.Seq)
	case a.No != l.Act || !a.Masked && a.Sum() != l.Content:
		return fault(Changed, "act %d was changed: it is not what link %d has sealed", l.Act, l.Seq)
	}
	v.at = l.Head()
	return nil
}
