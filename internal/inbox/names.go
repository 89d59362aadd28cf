package inbox

import (
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/inbox/webhooks"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// By is desk.By, which most verbs take.
type By = desk.By

// What nodes and stores name of the rooms.
const (
	DeliveryTemplate = webhooks.DeliveryTemplate
	DeliveryVersion  = webhooks.DeliveryVersion
	HTTP             = deadletter.DriverHTTP
	MaxOversized     = sources.MaxOversized
	SmallPayload     = letters.SmallPayload
)

// Observer is desk.Observer.
type Observer = desk.Observer

// Carrier is seam.Carrier.
type Carrier = seam.Carrier

// Arrival is seam.Arrival.
type Arrival = seam.Arrival

// Report is seam.Report.
type Report = seam.Report

// Webhooks is webhooks.Webhooks.
type Webhooks = webhooks.Webhooks

// Delivery is webhooks.Delivery.
type Delivery = webhooks.Delivery

// LetterFilter is letters.LetterFilter.
type LetterFilter = letters.LetterFilter

// Ruler is groups.Ruler.
type Ruler = groups.Ruler

// RuleProgram is groups.RuleProgram.
type RuleProgram = groups.RuleProgram

// Intaken is capture.Intaken.
type Intaken = capture.Intaken

// Level is compat.Level.
type Level = compat.Level

// OriginLevel is compat.OriginLevel.
type OriginLevel = compat.OriginLevel

// LetterPage is letters.LetterPage.
type LetterPage = letters.LetterPage

// GroupFilter is groups.GroupFilter.
type GroupFilter = groups.GroupFilter

// CaseMember is groups.CaseMember.
type CaseMember = groups.CaseMember

// Move is groups.Move.
type Move = groups.Move

// MovedCase is groups.MovedCase.
type MovedCase = groups.MovedCase

// PrintFunc is groups.PrintFunc.
type PrintFunc = groups.PrintFunc
