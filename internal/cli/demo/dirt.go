package demo

import "fmt"

// dirtKind is the class of a finding; it becomes the failure's error_type.
type dirtKind string

// The classes of dirt.
const (
	missingValue  dirtKind = "MissingValue"  // nothing where something is needed, or a word for nothing
	badFormat     dirtKind = "BadFormat"     // text that is not what the column holds
	unknownValue  dirtKind = "UnknownValue"  // a word outside the column's vocabulary
	outOfRange    dirtKind = "OutOfRange"    // a number that cannot be true
	contradiction dirtKind = "Contradiction" // two fields that cannot both be true
)

// dirt is why a report was refused. It is an error for good: the data does not
// get cleaner by trying again.
type dirt struct {
	Kind    dirtKind `json:"-"`
	Code    string   `json:"-"`
	Record  int      `json:"record"`
	Field   string   `json:"field"`
	Value   string   `json:"value"`
	Message string   `json:"-"`
}

// Error implements error.
func (d *dirt) Error() string { return d.Message }

// found makes the dirt of one field; the message names the field and value.
func found(kind dirtKind, code string, record int, field, value, why string) *dirt {
	return &dirt{
		Kind: kind, Code: code, Record: record, Field: field, Value: value,
		Message: fmt.Sprintf("%s %q %s", field, value, why),
	}
}
