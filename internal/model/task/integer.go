package task

import (
	"strconv"
	"strings"
)

const maxExponent = 100

// PlainInteger writes a number of JSON or YAML in plain digits, "" unless it is whole: 59, 59.0 and 5.9e1 are the
// same number.
func PlainInteger(raw string) string {
	if !strings.ContainsAny(raw, ".eE") {
		return raw
	}
	number, sign := strings.CutPrefix(raw, "-")
	mantissa, exponent, power := number, 0, ""
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, power = number[:i], number[i+1:]
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return ""
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, point := whole+fraction, len(whole)+exponent
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	point = max(point, 0)
	if strings.Trim(digits[point:], "0") != "" {
		return ""
	}
	digits = strings.TrimLeft(digits[:point], "0")
	switch {
	case digits == "":
		return "0"
	case sign:
		return "-" + digits
	}
	return digits
}
