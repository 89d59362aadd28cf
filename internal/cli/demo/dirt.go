package demo

import "fmt"

// dirtKind classifies a finding; it becomes the failure's error_type.
type dirtKind string

const (
	missingValue  dirtKind = "MissingValue"  // an empty required field, or a word for nothing
	badFormat     dirtKind = "BadFormat"     // the wrong format for the column
	unknownValue  dirtKind = "UnknownValue"  // a word outside the column's vocabulary
	outOfRange    dirtKind = "OutOfRange"    // an impossible number
	contradiction dirtKind = "Contradiction" // two fields that cannot both be true
)

// dirt says why a report was refused. It is permanent: retries do not clean data.
type dirt struct {
	Kind    dirtKind `json:"-"`
	Code    string   `json:"-"`
	Record  int      `json:"record"`
	Field   string   `json:"field"`
	Value   string   `json:"value"`
	Message string   `json:"-"`
}

func (d *dirt) Error() string { return d.Message }

func found(kind dirtKind, code string, record int, field, value, why string) *dirt {
	return &dirt{
		Kind: kind, Code: code, Record: record, Field: field, Value: value,
		Message: fmt.Sprintf("%s %q %s", field, value, why),
	}
}
