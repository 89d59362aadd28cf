package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Flight is what the aircraft did when it struck.
type Flight struct {
	Phase     string `json:"phase"`
	SpeedKt   int    `json:"speed_kt"`
	Estimated bool   `json:"speed_estimated,omitempty"` // not reported: the usual speed of the phase
}

// speedRule is the plausible range of the speed in one phase, in knots.
type speedRule struct {
	Min, Max int
	Usual    int // the median of what the data set reports; stands in for a missing speed
}

// speedRules is generous: it refuses only speeds that no aeroplane of this fleet reaches. The heaviest have
// left the runway by 180 kt, and none taxis at 60.
var speedRules = map[string]speedRule{
	parked:   {0, 0, 0},
	taxi:     {1, 60, 15},
	takeOff:  {1, 180, 125},
	climb:    {60, 450, 165},
	descent:  {60, 450, 250},
	approach: {60, 350, 140},
	landing:  {1, 180, 115},
}

// helicopters are the types that may be slower than 60 kt in the air.
var helicopters = []string{"AEROS 350", "AEROS SA365", "BELL-206", "BELL-212", "HUGHES 500", "ROBINSON R22",
	"SIKORSKY S-76"}

// walkers are the animals that cannot be met in the air.
var walkers = []string{"Coyote", "White-tailed deer"}

// checkFlight refuses a strike that cannot have happened as told. Rules come from the strictest to the most lenient: an
// unknown phase, an animal that cannot be there, a speed that cannot be true. A missing speed is no fault; it is
// estimated.
func checkFlight(s Strike) (Flight, error) {
	rule, ok := speedRules[s.Phase]
	if !ok {
		return Flight{}, found(unknownValue, "word_unknown", s.Record, "phase", s.Phase, "is not a word of this column")
	}
	if airborne(s.Phase) && slices.Contains(walkers, s.Species) {
		return Flight{}, found(contradiction, "ground_animal_in_flight", s.Record, "wildlife_species", s.Species,
			"does not fly, but the phase is "+strings.ToLower(s.Phase))
	}
	if s.SpeedKt == nil {
		return Flight{Phase: s.Phase, SpeedKt: rule.Usual, Estimated: s.Phase != parked}, nil
	}
	kt := *s.SpeedKt
	text := strconv.Itoa(kt)
	least := rule.Min
	if slices.Contains(helicopters, s.Aircraft) {
		least = 0
	}
	switch {
	case kt == 0 && least > 0:
		// A reporter who did not know the speed wrote 0: as a number, it would mean a strike without energy.
		return Flight{}, found(missingValue, "speed_zero", s.Record, "speed", text,
			"stands for a speed that is not known: the phase is "+strings.ToLower(s.Phase))
	case kt < least || kt > rule.Max:
		return Flight{}, found(outOfRange, "speed_impossible", s.Record, "speed", text,
			fmt.Sprintf("is outside %d to %d kt, the range of %s", least, rule.Max, strings.ToLower(s.Phase)))
	}
	return Flight{Phase: s.Phase, SpeedKt: kt}, nil
}

// airborne reports whether the wheels are off the ground.
func airborne(phase string) bool {
	return phase == climb || phase == descent || phase == approach
}
