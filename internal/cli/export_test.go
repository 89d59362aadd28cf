package cli

// ToYAML is toYAML for tests.
var ToYAML = toYAML
