package engine

import (
	"fmt"
	"slices"
)

// features are in the order in which the kernel calls them.
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
		cyclesFeature(),
		takenFeature(),
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
