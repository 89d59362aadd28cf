package httpapi_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/httpapi"
	"github.com/taskerhq/tasker/operate"
)

// notFields are parameters of lists that are no filter by a field: they turn pages, say
// what to show, or are the ends of a range of times (created_after is about created_at).
var notFields = []string{"limit", "offset", "cursor", "below", "after", "before", "created_after", "created_before", "fields", "include",
	"until", "queue",
	"resolution_status", // the queue takes the filters of all lists of cases; its rows are pending
	"tag",               // one of tags
	"namespace",         // called namespace_name in rows that have the names of a view
}

// TestFiltersAreCalledAsTheirFields: whoever reads a list knows what its filters are called.
func TestFiltersAreCalledAsTheirFields(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc openAPI
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	lists := 0
	for path, item := range doc.Paths {
		op, isList := item["get"], false
		if op.OperationID == "stream-events" {
			checkFilters(t, path, op.Parameters, doc.fields("#/components/schemas/Event"))
			continue
		}
		for _, p := range op.Parameters {
			isList = isList || p.Name == "limit"
		}
		if isList {
			lists++
			checkFilters(t, path, op.Parameters, doc.rows(op.Responses["200"].Content["application/json"].Schema))
		}
	}
	if lists < 9 {
		t.Errorf("there are %d lists in the document", lists)
	}
}

func checkFilters(t *testing.T, path string, parameters []openAPIParameter, fields []string) {
	t.Helper()
	for _, p := range parameters {
		if p.In != "query" || slices.Contains(notFields, p.Name) || strings.HasPrefix(p.Name, "include_") || slices.Contains(fields, p.Name) {
			continue
		}
		t.Errorf("%s: the filter %s is called as no field of its rows: %v", path, p.Name, fields)
	}
}

// openAPI is as much of OpenAPI as the test reads.
type openAPI struct {
	Paths      map[string]map[string]openAPIOperation
	Components struct{ Schemas map[string]openAPISchema }
}

type openAPIOperation struct {
	OperationID string `json:"operationId"`
	Parameters  []openAPIParameter
	Responses   map[string]struct {
		Content map[string]struct{ Schema openAPISchema }
	}
}

type openAPIParameter struct{ Name, In string }

type openAPISchema struct {
	Ref        string `json:"$ref"`
	Items      *openAPISchema
	Properties map[string]openAPISchema
}

// fields are the names of the properties of a schema.
func (d *openAPI) fields(ref string) []string {
	return slices.Sorted(maps.Keys(d.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]].Properties))
}

// rows are the fields of what a list holds: it is one, or has one.
func (d *openAPI) rows(s openAPISchema) []string {
	if s.Items != nil {
		return d.fields(s.Items.Ref)
	}
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	for _, p := range s.Properties {
		if p.Items != nil && p.Items.Ref != "" {
			return d.fields(p.Items.Ref)
		}
	}
	return nil
}

// TestOlderNamesOfFilters: what was sent to an earlier release is understood.
func TestOlderNamesOfFilters(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET", "/v1/dlq?reason=manual_dlq&limit=7", "")
	if got := last[operate.CaseFilter](f); got.Reason != tasker.ReasonManual || got.Limit != 7 {
		t.Errorf("cases: %+v", got)
	}
	a.do(t, "GET", "/v1/dlq/staleness?health=stale&namespace=n", "")
	if got := last[operate.StalenessFilter](f); got.Health != operate.Stale || got.Namespace != "n" {
		t.Errorf("staleness: %+v", got)
	}
	a.do(t, "GET", "/v1/audit?case="+caseID.String(), "")
	if got := last[operate.AuditFilter](f); got.CaseUUID != caseID {
		t.Errorf("audit: %+v", got)
	}
	a.do(t, "GET", "/api/v1/dlq?reason=manual_dlq&error=x%20y", "")
	if got := last[operate.FailedTaskFilter](f); got.Reason != tasker.ReasonManual || got.Fingerprint != "x y" {
		t.Errorf("failed tasks: %+v", got)
	}
	if got := a.do(t, "GET", "/v1/dlq?reason=manual_dlq&dlq_reason=manual_dlq", ""); got.status != 400 {
		t.Errorf("both names: %d", got.status)
	}
}
