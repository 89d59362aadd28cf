package deadletters

import (
	"context"

	"github.com/google/uuid"
)

// StateExplanation tells in sentences how a letter or a redrive came to its state, and what changes it. The sentences
// are for people, and change between versions.
type StateExplanation struct {
	LetterUUID  *uuid.UUID `json:"letter_uuid,omitempty" doc:"The letter that is explained."`
	RedriveUUID *uuid.UUID `json:"redrive_uuid,omitempty" doc:"The redrive that is explained."`
	State       string     `json:"state"`
	Summary     string     `json:"summary" doc:"One sentence."`
	Why         []string   `json:"why,omitempty" doc:"Sentences about what led to it."`
	Next        string     `json:"next,omitempty" doc:"What would change the state, automatically or by an operator."`
}

func (s server) ExplainLetter(ctx context.Context, id uuid.UUID) (*StateExplanation, error) {
	return fetch[StateExplanation](ctx, s, "explain dead letter", letterPath(id)+"/explain", nil)
}

func (s server) ExplainRedrive(ctx context.Context, id uuid.UUID) (*StateExplanation, error) {
	return fetch[StateExplanation](ctx, s, "explain redrive", "/v1/redrives/"+id.String()+"/explain", nil)
}
