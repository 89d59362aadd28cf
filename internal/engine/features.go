package engine

import (
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/flow"
	"github.com/taskerhq/tasker/internal/engine/kernel"
)

// features are in the order in which the kernel calls them.
func features() []kernel.Feature {
	return []kernel.Feature{
		kernel.OwnFeature(),
		flow.CompensationFeature(),
		kernel.OrderingFeature(),
		kernel.BreakersFeature(),
		kernel.OutagesFeature(),
		flow.ConditionsFeature(),
		flow.WaitsFeature(),
		flow.ApprovalsFeature(),
		cases.Feature(),
		cases.CyclesFeature(),
		cases.TakenFeature(),
		cases.WatchesFeature(),
		flow.ChildrenFeature(),
		kernel.GatesFeature(),
		kernel.LimitsFeature(),
		kernel.PausesFeature(),
		cases.IntakesFeature(),
		kernel.CheckpointsFeature(),
		kernel.LogsFeature(),
		kernel.ObserverFeature(),
	}
}

func featuresWithout(names []string) ([]kernel.Feature, error) {
	all := features()
	for _, name := range names {
		at := slices.IndexFunc(all, func(f kernel.Feature) bool { return f.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no feature %q", name)
		}
		all = slices.Delete(all, at, at+1)
	}
	return all, nil
}
