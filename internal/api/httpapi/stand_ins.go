package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/operate"
)

// The types of package operate import no schema library, so their lists of values have stand-ins.
type (
	healthSchema          struct{}
	detectionSchema       struct{}
	thresholdSourceSchema struct{}
	promiseSchema         struct{}
)

func standIns(a *endpoint.API) {
	endpoint.StandIn[operate.Health, healthSchema](a)
	endpoint.StandIn[operate.ThresholdSource, thresholdSourceSchema](a)
	endpoint.StandIn[operate.Promise, promiseSchema](a)
	endpoint.StandIn[operate.DetectionAction, detectionSchema](a)
	endpoint.StandIn[templateBody, tasker.TemplateSource](a)
	endpoint.StandIn[submitBody, tasker.SubmitRequest](a)
}

func (healthSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(operate.Healthy, operate.Warning, operate.Stale)
}

func (thresholdSourceSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(operate.ThresholdOfTemplate, operate.ThresholdOfAll,
		operate.ThresholdOfPromise, operate.ThresholdOfDuration)
}

func (promiseSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(operate.PromisedAttempt, operate.PromisedQueue, operate.PromisedTime,
		operate.PromisedRelease, operate.PromisedOutside)
}

func (detectionSchema) Schema(huma.Registry) *huma.Schema {
	return endpoint.EnumSchema(
		operate.WouldTransition, operate.MovedAndErrored, operate.MovedToDLQOnly, operate.ErroredOnly,
		operate.DetectionTransFail,
	)
}
