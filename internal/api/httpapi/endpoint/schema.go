package endpoint

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
)

// The types of package tasker import no schema library, so schemas that do not follow from Go types have stand-ins.
type (
	uuidSchema      struct{}
	prioritySchema  struct{}
	taskStateSchema struct{}
	stepStateSchema struct{}
	codeSchema      struct{}

	caseReasonSchema     struct{}
	caseResolutionSchema struct{}
)

func (uuidSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
}

func (prioritySchema) Schema(huma.Registry) *huma.Schema {
	low, high := 0.0, 100.0
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, MaxLength: ptr(64)},
		{Type: huma.TypeInteger, Minimum: &low, Maximum: &high},
	}}
}

func (taskStateSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: words(taskStates())}
}

func (stepStateSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: []any{
		string(tasker.StepPending), string(tasker.StepWaiting), string(tasker.StepEnqueued), string(tasker.StepAssigned),
		string(tasker.StepInProgress), string(tasker.StepEnqueuedForOrchestration), string(tasker.StepWaitingForRetry),
		string(tasker.StepComplete), string(tasker.StepSkipped), string(tasker.StepError),
		string(tasker.StepCancelled), string(tasker.StepResolvedManually),
	}}
}

func (codeSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, kind := range web.ProblemKinds() {
		s.Enum = append(s.Enum, string(kind.Code))
	}
	return s
}

func (caseReasonSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: words([]tasker.CaseReason{
		tasker.ReasonStaleness, tasker.ReasonMaxRetries, tasker.ReasonCycle, tasker.ReasonWorkerUnavailable,
		tasker.ReasonManual,
	})}
}

func (caseResolutionSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: words([]tasker.CaseResolution{
		tasker.CasePending, tasker.CaseManuallyResolved, tasker.CasePermanentlyFailed, tasker.CaseCancelled,
	})}
}

func taskStates() []tasker.TaskState {
	return []tasker.TaskState{
		tasker.TaskPending, tasker.TaskInitializing, tasker.TaskEnqueuingSteps, tasker.TaskStepsInProcess,
		tasker.TaskEvaluatingResults, tasker.TaskWaitingForDependencies, tasker.TaskWaitingForRetry,
		tasker.TaskBlockedByFailures, tasker.TaskComplete, tasker.TaskError, tasker.TaskCancelled,
		tasker.TaskResolvedManually,
	}
}

func words[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, word := range list {
		out[i] = string(word)
	}
	return out
}

func ptr[T any](v T) *T { return &v }

func newRegistry() huma.Registry {
	r := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	for real, standIn := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[uuid.UUID]():        reflect.TypeFor[uuidSchema](),
		reflect.TypeFor[tasker.Priority]():  reflect.TypeFor[prioritySchema](),
		reflect.TypeFor[tasker.TaskState](): reflect.TypeFor[taskStateSchema](),
		reflect.TypeFor[tasker.StepState](): reflect.TypeFor[stepStateSchema](),
		reflect.TypeFor[tasker.Code]():      reflect.TypeFor[codeSchema](),

		reflect.TypeFor[tasker.CaseReason]():     reflect.TypeFor[caseReasonSchema](),
		reflect.TypeFor[tasker.CaseResolution](): reflect.TypeFor[caseResolutionSchema](),
	} {
		r.RegisterTypeAlias(real, standIn)
	}
	return r
}

// Registry returns the schemas of the document.
func (a *API) Registry() huma.Registry { return a.registry }

// StandIn documents a type by the schema of another. Call it before an operation uses the type.
func StandIn[Real, StandIn any](a *API) {
	a.registry.RegisterTypeAlias(reflect.TypeFor[Real](), reflect.TypeFor[StandIn]())
}

// EnumSchema returns the schema of a string with given values.
func EnumSchema[T ~string](values ...T) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: words(values)}
}

// SchemaOf returns the schema of a Go type.
func SchemaOf[T any](r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	notNull(s)
	return s
}

// settle removes huma's own error types, and the null that huma allows for every array; this API never sends it.
func settle(r huma.Registry) {
	delete(r.Map(), "ErrorModel")
	delete(r.Map(), "ErrorDetail")
	for _, s := range r.Map() {
		notNull(s)
	}
}

func notNull(s *huma.Schema) {
	if s.Type == huma.TypeArray {
		s.Nullable = false
		notNull(s.Items)
	}
	if each, ok := s.AdditionalProperties.(*huma.Schema); ok {
		notNull(each)
	}
	for _, property := range s.Properties {
		notNull(property)
	}
}

// openUp lets clients accept new fields: a schema that no request uses may have more properties than the document
// lists.
func openUp(r huma.Registry, requests []*huma.Schema) {
	used := map[string]bool{}
	for _, s := range requests {
		collect(r, s, used)
	}
	for name, s := range r.Map() {
		if s.AdditionalProperties == false && !used[name] {
			s.AdditionalProperties = true
		}
	}
}

// narrowMetadata documents the engine's rule for the metadata of cases: an object, although the Go type allows any
// JSON.
func narrowMetadata(r huma.Registry) {
	for _, s := range r.Map() {
		if metadata := s.Properties["metadata"]; metadata != nil && metadata.Type == "" && metadata.Ref == "" {
			metadata.Type, metadata.AdditionalProperties = huma.TypeObject, true
		}
	}
}

// allowNull documents that null for an optional property of a request means the same as a missing property, as in the
// checker. Call it after the shapes are compiled.
func allowNull(r huma.Registry, requests []*huma.Schema) {
	used := map[string]bool{}
	for _, s := range requests {
		collect(r, s, used)
		nullable(s)
	}
	for name := range used {
		nullable(r.Map()[name])
	}
}

// nullable allows null for the optional properties of a schema. A reference and an enum need a different form.
func nullable(s *huma.Schema) {
	for name, property := range s.Properties {
		switch {
		case slices.Contains(s.Required, name):
		case property.Ref != "":
			s.Properties[name] = &huma.Schema{Description: property.Description,
				OneOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}}
		case len(property.OneOf) > 0:
			property.OneOf = append(slices.Clip(property.OneOf), &huma.Schema{Type: "null"})
		case property.Type != "":
			property.Nullable = true
			if len(property.Enum) > 0 {
				property.Enum = append(slices.Clip(property.Enum), nil)
			}
		}
	}
}

// collect records the components that a schema refers to, directly and through others. It enters each once, so
// recursive types end.
func collect(r huma.Registry, s *huma.Schema, used map[string]bool) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name := s.Ref[len("#/components/schemas/"):]
		if !used[name] {
			used[name] = true
			collect(r, r.SchemaFromRef(s.Ref), used)
		}
		return
	}
	collect(r, s.Items, used)
	if each, ok := s.AdditionalProperties.(*huma.Schema); ok {
		collect(r, each, used)
	}
	for _, list := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf} {
		for _, alternative := range list {
			collect(r, alternative, used)
		}
	}
	for _, property := range s.Properties {
		collect(r, property, used)
	}
}
