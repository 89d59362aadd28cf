package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Flight is the aircraft's state at the strike.
type Flight struct {
	Phase     string `json:"phase"`
	SpeedKt   int    `json:"speed_kt"`
	Estimated bool   `json:"speed_estimated,omitempty"` // not reported: the phase's usual speed
}

// speedRule is the plausible speed in a phase, in knots.
type speedRule struct {
	Min, Max int
	Usual    int // the median of the data set, for missing speeds
}

// speedRules refuses only speeds that no aeroplane of this fleet reaches. The heaviest have left the runway by 180
// kt, and none taxis at 60.
var speedRules = map[string]speedRule{
	parked:   {0, 0, 0},
	taxi:     {1, 60, 15},
	takeOff:  {1, 180, 125},
	climb:    {60, 450, 165},
	descent:  {60, 450, 250},
	approach: {60, 350, 140},
	landing:  {1, 180, 115},
}

// helicopters may fly slower than 60 kt.
var helicopters = []string{"AEROS 350", "AEROS SA365", "BELL-206", "BELL-212", "HUGHES 500", "ROBINSON R22",
	"SIKORSKY S-76"}

// walkers are never met in the air.
var walkers = []string{"Coyote", "White-tailed deer"}

// checkFlight refuses impossible strikes: an unknown phase, an impossible animal, an impossible speed. A missing
// speed is estimated.
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
		// Reporters wrote 0 for an unknown speed, which would mean no energy.
		return Flight{}, found(missingValue, "speed_zero", s.Record, "speed", text,
			"stands for a speed that is not known: the phase is "+strings.ToLower(s.Phase))
	case kt < least || kt > rule.Max:
		return Flight{}, found(outOfRange, "speed_impossible", s.Record, "speed", text,
			fmt.Sprintf("is outside %d to %d kt, the range of %s", least, rule.Max, strings.ToLower(s.Phase)))
	}
	return Flight{Phase: s.Phase, SpeedKt: kt}, nil
}

func airborne(phase string) bool {
	return phase == climb || phase == descent || phase == approach
}
