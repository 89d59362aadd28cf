package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/chain"
)

const (
	// verifyPage is the page size of VerifyAudit.
	verifyPage = 500
	// sealedLate is a remarkable age of an act at its sealing, which normally takes about a second.
	sealedLate = 10 * time.Minute
)

// VerifyOptions are the options of VerifyAudit. The zero value checks everything.
type VerifyOptions struct {
	// From is an earlier head: acts sealed before it are not checked.
	From string
	// Head is an earlier head, which the chain must contain. This detects a chain that was rewritten or cut off at its
	// end, and a database restored from an older backup.
	Head string
	// Part: the input is an archive, which need not contain the act that archived what was before it.
	Part bool
	// Progress is called with the number of checked links. Optional.
	Progress func(links int64)
}

// AuditReport is the result of VerifyAudit.
type AuditReport struct {
	OK      bool   `json:"ok"`
	Head    string `json:"head"`  // of the faultless part
	Links   int64  `json:"links"` // faultless ones
	Waiting int64  `json:"waiting"`
	// Archived is the head before the chain's start, ArchiveAct the number of the act that archived it, and ArchivedBy
	// its actor.
	Archived   *AuditArchive `json:"archived,omitempty"`
	ArchiveAct int64         `json:"archive_act,omitempty"`
	ArchivedBy string        `json:"archived_by,omitempty"`
	// SealedLate counts acts sealed long after their own time, and FirstLate is the number of the first. They are older
	// than the chain, or no server was running, or their time is false.
	SealedLate int64 `json:"sealed_late"`
	// Masked counts acts with data masked for the reader: only their links were checked.
	Masked    int64       `json:"masked,omitempty"`
	FirstLate int64       `json:"first_late,omitempty"`
	Fault     *AuditFault `json:"fault,omitempty"`
}

// AuditFault is the first difference that VerifyAudit found.
type AuditFault struct {
	// Finding is changed, removed or inserted, about an act; link_changed or link_removed, about the chain;
	// archive_forged, about an archive; or head_missing.
	Finding string `json:"finding"`
	Seq     int64  `json:"seq,omitempty"` // of the link
	ActNo   int64  `json:"act_no,omitempty"`
	Message string `json:"message"`
}

// VerifyAudit checks the audit trail: it computes every hash of the chain from the acts themselves, in this process,
// and looks for acts outside of the chain. It reads page by page and needs little memory; it blocks until it has read
// everything, or found a fault. An error means that it could not check; a fault comes in the report. CodeInvalid: a
// head has no valid form, or From is archived.
func VerifyAudit(ctx context.Context, b ChainBackend, opts VerifyOptions) (*AuditReport, error) {
	v := &verification{b: b, part: opts.Part, report: &AuditReport{}, progress: opts.Progress,
		acts: map[chain.Head]*AuditRecord{}}
	if v.progress == nil {
		v.progress = func(int64) {}
	}
	if err := v.parse(opts); err != nil {
		return nil, err
	}
	fault, err := v.links(ctx)
	for _, check := range []func() *chain.Fault{v.archiveFault, v.headFault} {
		if fault == nil && err == nil {
			fault = check()
		}
	}
	if fault == nil && err == nil {
		fault, err = v.loose(ctx)
	}
	if err != nil {
		return nil, err
	}
	v.report.Head = v.chain.Head().String()
	if v.report.OK = fault == nil; fault != nil {
		v.report.Fault = &AuditFault{Finding: string(fault.Finding), Seq: fault.Seq, ActNo: fault.Act,
			Message: fault.Message}
	}
	return v.report, nil
}

type verification struct {
	b          ChainBackend
	part       bool
	report     *AuditReport
	progress   func(int64)
	from, head *chain.Head // nil: none
	chain      *chain.Verifier
	archived   chain.Head                  // checking began behind it
	acts       map[chain.Head]*AuditRecord // by the archived head that they name
	headSeen   bool
}

func (v *verification) parse(opts VerifyOptions) error {
	for _, o := range []struct {
		at, text string
		to       **chain.Head
	}{{"from", opts.From, &v.from}, {"head", opts.Head, &v.head}} {
		if o.text == "" {
			continue
		}
		h, err := chain.ParseHead(o.text)
		if err != nil {
			return &tasker.Error{Code: tasker.CodeInvalid, Message: "the audit trail was not verified",
				Details: []tasker.Detail{{Location: o.at, Message: err.Error()}}}
		}
		*o.to = &h
	}
	return nil
}

func (v *verification) links(ctx context.Context) (*chain.Fault, error) {
	if fault, err := v.start(ctx); fault != nil || err != nil {
		return fault, err
	}
	for {
		page, err := v.page(ctx, v.chain.Head().Seq, verifyPage)
		if err != nil || len(page.Links) == 0 {
			return nil, err
		}
		for i := range page.Links {
			fault, err := v.link(&page.Links[i])
			if err != nil {
				return nil, err
			}
			if fault == nil {
				continue
			}
			// the beginning of the chain may have been archived and deleted since
			if moved, err := v.skipArchived(ctx); err != nil || !moved {
				return fault, err
			}
			break
		}
		v.progress(v.report.Links)
	}
}

func (v *verification) page(ctx context.Context, above int64, limit int) (*AuditChain, error) {
	return v.b.AuditChain(ctx, AuditChainFilter{Above: above, Limit: limit})
}

// behind starts the check behind the last archive of a page. Its act is among the following links, unless it was
// forged: see archiveFault.
func (v *verification) behind(page *AuditChain) error {
	if len(page.Archives) == 0 {
		return nil
	}
	a := &page.Archives[len(page.Archives)-1]
	h, err := chain.ParseHead(a.Head)
	if err != nil {
		return &tasker.Error{Code: tasker.CodeInternal, Message: "an archive has no readable head: " + err.Error()}
	}
	v.archived, v.report.Archived = h, a
	return nil
}

func (v *verification) note(h chain.Head) { v.headSeen = v.headSeen || v.head != nil && *v.head == h }

// start sets where checking begins: behind the archives, or behind the caller's head.
func (v *verification) start(ctx context.Context) (*chain.Fault, error) {
	above := int64(0)
	if v.from != nil && v.from.Seq > 0 {
		above = v.from.Seq - 1
	}
	page, err := v.page(ctx, above, 1)
	if err != nil {
		return nil, err
	}
	if err := v.behind(page); err != nil {
		return nil, err
	}
	v.chain = chain.From(v.archived)
	if v.from == nil || v.from.Seq == 0 || *v.from == v.archived {
		return nil, nil
	}
	if v.from.Seq <= v.archived.Seq {
		return nil, &tasker.Error{Code: tasker.CodeInvalid, Message: "the audit trail was not verified",
			Details: []tasker.Detail{{Location: "from", Message: fmt.Sprintf("link %d is archived: the chain starts behind "+
				"link %d", v.from.Seq, v.archived.Seq)}}}
	}
	if len(page.Links) == 1 {
		l, err := page.Links[0].chainLink()
		if err != nil {
			return nil, err
		}
		if l.Head() == *v.from {
			v.chain = chain.From(*v.from)
			v.note(*v.from)
			return nil, nil
		}
	}
	return missing(*v.from), nil
}

// skipArchived continues behind newly archived links.
func (v *verification) skipArchived(ctx context.Context) (bool, error) {
	at := v.chain.Head().Seq
	page, err := v.page(ctx, at, 1)
	if err == nil {
		err = v.behind(page)
	}
	if err != nil || v.archived.Seq <= at {
		return false, err
	}
	v.chain = chain.From(v.archived)
	return true, nil
}

func (v *verification) link(public *AuditLink) (*chain.Fault, error) {
	l, err := public.chainLink()
	if err != nil {
		return nil, err
	}
	act := public.Act.content()
	if fault := v.chain.Add(l, act); fault != nil {
		return fault, nil
	}
	if h := act.ArchivedHead(); h.Seq > 0 {
		v.acts[h] = public.Act
	}
	v.report.Links++
	if public.Act.DataMasked {
		v.report.Masked++
	}
	v.note(v.chain.Head())
	if public.SealedAt.Sub(public.Act.At) > sealedLate {
		if v.report.SealedLate++; v.report.FirstLate == 0 {
			v.report.FirstLate = public.ActNo
		}
	}
	return nil, nil
}

func missing(h chain.Head) *chain.Fault {
	return &chain.Fault{Finding: chain.HeadMissing, Seq: h.Seq, Message: fmt.Sprintf("the chain does not contain the "+
		"noted head %s: its end was removed, it was rewritten, or the database was restored from an older backup", h)}
}

// archiveFault looks for the act that archived the beginning of the chain: anybody with access to the database can
// write a row about it, but a forged act stays in the trail.
func (v *verification) archiveFault() *chain.Fault {
	switch act := v.acts[v.archived]; {
	case v.archived.Seq == 0 || v.from != nil && v.from.Seq > v.archived.Seq:
		return nil // it hides nothing that was checked
	case act != nil:
		v.report.ArchiveAct, v.report.ArchivedBy = act.No, act.Actor
	case !v.part:
		return &chain.Fault{Finding: chain.ArchiveForged, Seq: v.archived.Seq, Message: fmt.Sprintf("the acts up to link %d "+
			"are said to be archived, and no act of the chain behind them has archived them: they were removed",
			v.archived.Seq)}
	}
	v.note(v.archived) // the following links depend on it
	return nil
}

func (v *verification) headFault() *chain.Fault {
	switch {
	case v.head == nil || v.head.Seq == 0 || v.headSeen:
		return nil
	case v.head.Seq < v.archived.Seq:
		return &chain.Fault{Finding: chain.HeadMissing, Seq: v.head.Seq, Message: fmt.Sprintf("the noted head %s is "+
			"archived: the chain starts behind link %d; look for it in the archive", v.head, v.archived.Seq)}
	case v.from != nil && v.head.Seq < v.from.Seq:
		return &chain.Fault{Finding: chain.HeadMissing, Seq: v.head.Seq, Message: fmt.Sprintf("the noted head %s is before "+
			"link %d, where checking began", v.head, v.from.Seq)}
	}
	return missing(*v.head)
}

func (v *verification) loose(ctx context.Context) (*chain.Fault, error) {
	for above := int64(0); ; {
		page, err := v.b.LooseActs(ctx, above)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Acts {
			switch a.State {
			case ActWaiting:
				v.report.Waiting++
			case ActInserted:
				return &chain.Fault{Finding: chain.Inserted, Act: a.No, Message: fmt.Sprintf("act %d was inserted: no link has "+
					"sealed it, and it is not waiting for one", a.No)}, nil
			case ActRemoved:
				return &chain.Fault{Finding: chain.Removed, Act: a.No, Message: fmt.Sprintf("act %d was removed before it was "+
					"sealed", a.No)}, nil
			}
		}
		if page.Next <= above && above > 0 || page.Next == 0 {
			return nil, nil
		}
		above = page.Next
	}
}
