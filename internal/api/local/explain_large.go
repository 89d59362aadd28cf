package local

func (x *explainer) tooLarge() string {
	limit := "raise engine.limits.large_result_bytes"
	switch in := x.task.Meta.Intake; {
	case len(x.tpl.Sensitive) > 0 || in != nil && len(in.Sensitive) > 0:
		return "Let the step return less, since a task with sensitive fields has no large results, and reset it; or " +
			"complete it with a result."
	case x.b.engine.MaxLargeResult() == 0:
		limit = "set blobs.url to a store for larger results"
	}
	return "Let the step return less, or " + limit + ", and reset it; or complete it with a result."
}
