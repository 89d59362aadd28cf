package engine

import "slices"

// features are the features of an engine, each a line. Their order is that in which they are asked at a moment.
func features() []feature {
	return []feature{
		kernelWork(),
		compensationFeature(),
		orderingFeature(),
		breakersFeature(),
		outagesFeature(),
		waitsFeature(),
		approvalsFeature(),
		casesFeature(),
		watchesFeature(),
		childrenFeature(),
		gatesFeature(),
		limitsFeature(),
		intakesFeature(),
		checkpointsFeature(),
		logsFeature(),
		observerFeature(),
	}
}

// featuresWithout leaves out features by their names.
func featuresWithout(names []string) []feature {
	return slices.DeleteFunc(features(), func(f feature) bool { return slices.Contains(names, f.name) })
}
