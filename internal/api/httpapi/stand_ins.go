package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/operate"
)

// The types of package operate import no schema library, so their lists of values are given here, one stand-in type
// each.
type (
	healthSchema          struct{}
	detectionSchema       struct{}
	thresholdSourceSchema struct{}
	promiseSchema         struct{}
)

// standIns documents the types of this package's routes whose schemas do not follow from Go types.
func standIns(a *endpoint.API) {
	endpoint.StandIn[operate.Health, healthSchema](a)
	endpoint.StandIn[operate.ThresholdSource, thresholdSourceSchema](a)
	endpoint.StandIn[operate.Promise, promiseSchema](a)
	endpoint.StandIn[operate.DetectionAction, detectionSchema](a)
	endpoint.StandIn[templateBody, tasker.TemplateSource](a)
	endpoint.StandIn[submitBody, tasker.SubmitRequest](a)
}

// Schema lists the values of a task's health.
func (healthSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(operate.Healthy, operate.Warning, operate.Stale)
}

// Schema implements huma.SchemaProvider.
func (thresholdSourceSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(operate.ThresholdOfTemplate, operate.ThresholdOfAll,
		operate.ThresholdOfPromise, operate.ThresholdOfDuration)
}

// Schema implements huma.SchemaProvider.
func (promiseSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(operate.PromisedAttempt, operate.PromisedQueue, operate.PromisedTime,
		operate.PromisedRelease, operate.PromisedOutside)
}

// Schema lists the detector's possible actions.
func (detectionSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(
		operate.WouldTransition, operate.MovedAndErrored, operate.MovedToDLQOnly, operate.ErroredOnly,
		operate.DetectionTransFail,
	)
}
