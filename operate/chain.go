package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/chain"
)

// ChainBackend reads the hash chain of the audit trail, as VerifyAudit needs it.
type ChainBackend interface {
	// AuditChain returns a page of the chain. A page may have fewer links than its limit; only the end has none.
	// CodeUnavailable: a store in memory has no chain.
	AuditChain(ctx context.Context, filter AuditChainFilter) (*AuditChain, error)
	// LooseActs returns acts above a number that are in no link. A page may be empty and have a Next.
	LooseActs(ctx context.Context, above int64) (*LooseActs, error)
}

// AuditChainFilter selects a page of the chain.
type AuditChainFilter struct {
	Above int64 `query:"above" minimum:"0" doc:"Continue above this seq: the last one of the previous page."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size. A page may have fewer links; only the end has none."`
}

// AuditChain is a page of the hash chain of the audit trail.
type AuditChain struct {
	Archives []AuditArchive `json:"archives" doc:"Heads up to which the chain was archived and may have been deleted, the earliest first. The chain starts behind the last one."`
	Links    []AuditLink    `json:"links"`
}

// AuditLink is a link of the chain: it seals one act.
type AuditLink struct {
	Seq      int64        `json:"seq" minimum:"1" doc:"Links are numbered from 1 without gaps."`
	ActNo    int64        `json:"act_no" doc:"Number of the sealed act."`
	SealedAt time.Time    `json:"sealed_at"`
	Content  string       `json:"content" doc:"SHA-256 of the act, in hexadecimal."`
	Hash     string       `json:"hash" doc:"SHA-256 of the link and the hash of the link before it, in hexadecimal."`
	Act      *AuditRecord `json:"act,omitempty" doc:"The act as it is now. Absent when it does not exist."`
}

// AuditArchive is the record that the beginning of the chain was archived.
type AuditArchive struct {
	Seq  int64     `json:"seq" doc:"Number of the last archived link."`
	Head string    `json:"head" doc:"Last archived link: its number and its hash."`
	At   time.Time `json:"at"`
	Acts int64     `json:"acts" doc:"Number of acts in this archive."`
}

// LooseActs are acts outside of the chain.
type LooseActs struct {
	Acts []LooseAct `json:"acts"`
	Next int64      `json:"next,omitempty" doc:"Continue above this number; absent at the end."`
}

// LooseAct is an act outside of the chain.
type LooseAct struct {
	No    int64      `json:"no"`
	State LooseState `json:"state" enum:"waiting,inserted,removed" doc:"waiting: it will be sealed within about a second; inserted: it was not stored by Tasker; removed: it was stored and does not exist."`
}

// LooseState is why an act is in no link.
type LooseState string

// The states of acts outside of the chain.
const (
	ActWaiting  LooseState = "waiting"
	ActInserted LooseState = "inserted"
	ActRemoved  LooseState = "removed"
)

// chainLink decodes a link. An unreadable hash is an error.
func (l *AuditLink) chainLink() (*chain.Link, error) {
	out := &chain.Link{Seq: l.Seq, Act: l.ActNo, SealedAt: l.SealedAt.UnixMicro()}
	var err error
	if out.Content, err = chain.ParseHash(l.Content); err == nil {
		out.Hash, err = chain.ParseHash(l.Hash)
	}
	if err != nil {
		return nil, &tasker.Error{Code: tasker.CodeInternal, Message: fmt.Sprintf("link %d cannot be read: %v", l.Seq, err)}
	}
	return out, nil
}

func (r *AuditRecord) content() *chain.Act {
	if r == nil {
		return nil
	}
	text := func(id *uuid.UUID) string {
		if id == nil || *id == uuid.Nil {
			return ""
		}
		return id.String()
	}
	auth := string(r.Authenticated)
	if r.Authenticated == AuthenticationLost {
		auth = ""
	}
	return &chain.Act{No: r.No, At: r.At.UnixMicro(), Kind: r.Kind, Actor: r.Actor, Auth: auth, Key: r.KeyName,
		Reason: r.Reason, Task: text(&r.TaskUUID), Step: text(r.StepUUID), Case: text(r.CaseUUID),
		Worker: text(r.WorkerID), Namespace: r.Namespace, Template: r.Template, Before: r.Before, After: r.After,
		Data: r.Data, Damage: r.Damage, Masked: r.DataMasked}
}
