package engine

import (
	"fmt"
	"slices"
)

// features are the features of an engine, each a line. Their order is that in which they are asked at a moment.
func features() []feature {
	return []feature{
		kernelWork(),
		compensationFeature(),
		orderingFeature(),
		breakersFeature(),
		outagesFeature(),
		conditionsFeature(),
		waitsFeature(),
		approvalsFeature(),
		casesFeature(),
		watchesFeature(),
		childrenFeature(),
		gatesFeature(),
		limitsFeature(),
		pausesFeature(),
		intakesFeature(),
		checkpointsFeature(),
		logsFeature(),
		observerFeature(),
	}
}

// featuresWithout leaves out features by their names.
func featuresWithout(names []string) ([]feature, error) {
	all := features()
	for _, name := range names {
		at := slices.IndexFunc(all, func(f feature) bool { return f.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no feature %q", name)
		}
		all = slices.Delete(all, at, at+1)
	}
	return all, nil
}
