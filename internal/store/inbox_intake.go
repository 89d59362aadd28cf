package store

import (
	"encoding/json"

	"github.com/taskerhq/tasker/internal/deadletter"
)

func intakeText(in *deadletter.Intake) (any, error) {
	if in == nil {
		return "", nil
	}
	return jsonText(in)
}

func intakeOf(column Text) (*deadletter.Intake, error) {
	if column == "" {
		return nil, nil
	}
	in := &deadletter.Intake{}
	return in, json.Unmarshal([]byte(column), in)
}
