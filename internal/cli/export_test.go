package cli

var ToYAML = toYAML
