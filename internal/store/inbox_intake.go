package store

import (
	"encoding/json"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// intakeText is the column of an intake, "" for none.
func intakeText(in *deadletter.Intake) (any, error) {
	if in == nil {
		return "", nil
	}
	return jsonText(in)
}

// intakeOf reads the column of an intake.
func intakeOf(column Text) (*deadletter.Intake, error) {
	if column == "" {
		return nil, nil
	}
	in := &deadletter.Intake{}
	return in, json.Unmarshal([]byte(column), in)
}
