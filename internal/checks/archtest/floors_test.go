package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

// floor is a folder of packages with one rule of imports. The deepest floor of a package decides.
type floor struct {
	name string
	// may are further floors, folders and packages that its packages may import.
	may []string
	// shared are the floor's joints: packages of this floor that the others may import. Others may import only what
	// lies below them in the tree.
	shared []string // or anyRoom
	why    string
}

// values are the public packages of nouns: types and clients, as light as the root package.
var values = []string{".", "deadletters", "flow", "operate", "schedules", "waits", "worker"}

// floors are in order from the ground up: a floor imports lower ones only.
var floors = []floor{
	{"internal/kit", nil, anyRoom,
		"tools know nothing of tasks, and worker programs carry them"},
	{"internal/model", []string{"internal/kit", "deadletters/model"}, anyRoom,
		"the domain is pure: it decides, and neither stores, sends nor waits"},
	{"internal/engine", []string{"internal/kit", "internal/model", "internal/engine/kernel", "internal/engine/cases",
		"internal/engine/submit", "internal/engine/acts", "internal/engine/flow", "internal/engine/figures",
		"internal/engine/office"},
		[]string{"internal/engine", "internal/engine/due"},
		"the engine declares the store that it needs, and does not know how it is reached"},
	{"internal/engine/kernel", []string{"internal/kit", "internal/model", "internal/engine/check", "internal/engine/due",
		"internal/engine/feed"}, nil, "every task needs it, and it knows no room"},
	{"internal/engine/cases", roomOn("engine/check", "engine/due"), nil, asRoomOf},
	{"internal/engine/submit", roomOn("engine/check", "engine/cases", "kit"), nil, asRoomOf},
	{"internal/engine/acts", roomOn("engine/check", "engine/due", "engine/cases", "engine/submit", "kit"), nil, asRoomOf},
	{"internal/engine/flow", roomOn("engine/check", "engine/due", "engine/submit", "engine/acts", "kit"), nil, asRoomOf},
	{"internal/engine/figures", roomOn("engine/check", "engine/feed", "engine/cases", "engine/submit"), nil, asRoomOf},
	{"internal/engine/office", roomOn(), nil, asRoomOf},
	{"internal/broker", []string{"internal/kit", "internal/model"},
		[]string{"internal/broker/amqp", "internal/broker/brokerurl", "internal/broker/driver", "internal/broker/kafkaurl",
			"internal/broker/redislist", "internal/broker/redisurl"},
		"a driver knows the seam and its client library, and no other driver"},
	{"internal/inbox", []string{"internal/kit", "internal/model", "internal/engine", "internal/broker",
		"deadletters/model"}, []string{"internal/inbox"},
		"it decides about letters with the domain and stores through its roles; it knows no SQL and no HTTP"},
	{"internal/store", []string{"internal/kit", "internal/model", "internal/engine", "internal/inbox", "blob",
		"deadletters/model"}, []string{"internal/store", "internal/store/migration", "internal/store/nesting"},
		"a store fulfils the roles that others declare, and knows no other store"},
	{"internal/api", append([]string{"internal/kit", "internal/model", "internal/engine", "internal/inbox",
		"deadletters/model"}, values...),
		[]string{"internal/api/dlqapi", "internal/api/executionapi", "internal/api/news", "internal/api/queueapi",
			"internal/api/refusal", "internal/api/strictjson", "internal/api/web", "internal/api/httpapi/endpoint",
			"internal/api/httpapi/masking", "internal/api/httpapi/stepworker", "internal/api/httpapi/taskworker"},
		"it turns public types into those of the engine and back, and opens no store; families of routes do not know " +
			"each other"},
	{"internal/dashboard", append([]string{"internal/kit/envelope", "internal/model/access", "internal/api/queueapi",
		"internal/api/web"}, values...),
		[]string{"internal/dashboard/chart", "internal/dashboard/diff", "internal/dashboard/live",
			"internal/dashboard/page"},
		"a page is a client of the public API, and knows neither the engine nor another family of pages"},
	{"internal/host", append([]string{"internal/kit", "internal/model", "internal/engine", "internal/broker",
		"internal/inbox", "internal/store", "internal/api", "internal/dashboard", "blob", "deadletters/model",
		"redisqueue"}, ".", "deadletters", "operate", "schedules", "worker"),
		[]string{"internal/host/config", "internal/host/upkeep"},
		"it wires what the floors below offer, and is the only one that picks a store and a broker"},
	{"internal/cli", append([]string{"internal/kit", "internal/model", "internal/host", "internal/api/queueapi",
		"internal/store/migration", "docs", "embedded", "rabbitmq", "remote"}, values...), []string{"internal/cli/demo"},
		"a command speaks to a Backend; only what looks after a database, or describes a template, works without one"},
	{"internal/testkit", []string{"internal", "deadletters/model"}, anyRoom,
		"it is for tests only"},
	{"internal/checks", nil, nil, "it looks at the tree from outside"},
	{"proof", []string{"internal", ".", "deadletters", "operate", "rabbitmq", "redisqueue", "remote", "waits",
		"worker"}, anyRoom, "it drives the product from outside, and looks inside to judge it"},

	{".", []string{"internal/kit", "deadletters/model"}, nil,
		"a worker program imports it, and carries neither a server nor a database along"},
	{"worker", []string{".", "internal/kit", "internal/api/wire"}, nil,
		"an application imports it, and gets neither a server nor a client of one"},
	{"remote", []string{".", "internal/kit", "internal/api/wire", "worker/protocol"}, nil,
		"an application imports it, and gets no server"},
	{"deadletters/model", nil, nil, "the domain and the public API share these values: the standard library only"},
	{"deadletters", []string{".", "internal/kit", "deadletters/model"}, nil, asRoot},
	{"flow", []string{".", "internal/kit"}, nil, asRoot},
	{"operate", []string{".", "internal/kit"}, nil, asRoot},
	{"schedules", []string{".", "internal/kit"}, nil, asRoot},
	{"waits", []string{".", "internal/kit"}, nil, asRoot},
	{"tasktest", []string{".", "worker"}, nil, "tests of applications import it, and get no server"},
	{"codec", []string{".", "internal/kit/vault"}, nil, "an application imports it, and gets ciphers only"},
	{"blob", nil, nil, "an embedder implements it, and needs nothing for that"},
	{"kafka", []string{"internal/kit", "internal/model/attempt", "internal/model/failure"}, nil,
		"applications that know no Tasker import it: a client of Kafka, and no engine"},
	{"rabbitmq", []string{".", "internal/broker/amqp", "worker"}, nil,
		"a worker program imports it: a client of RabbitMQ, and no server"},
	{"redisqueue", []string{"internal/kit", "internal/model/attempt", "internal/model/failure",
		"internal/broker/redislist"}, nil, "applications that know no Tasker import it: a client of Redis, and no engine"},
	{"embedded", []string{".", "blob", "operate", "internal/host", "internal/store/migration"}, nil,
		"it is the public door of the engine in a process, and has no rule of its own"},
	{"examples", []string{".", "remote", "worker"}, nil, "an application has the public API only"},
	{"docs", nil, nil, "it holds the pages, and knows nothing of them"},
	{"cmd/tasker", []string{"internal/cli"}, nil, "main only hands the process over"},
}

const asRoomOf = "a room of the engine knows the kernel and lower rooms; only package engine knows all"

// roomOn is what a room of the engine may import.
func roomOn(more ...string) []string {
	list := []string{"internal/model", "internal/engine/kernel"}
	for _, name := range more {
		list = append(list, "internal/"+name)
	}
	return list
}

// anyRoom makes all packages of a floor joints; Go forbids cycles.
var anyRoom = []string{""}

const asRoot = "the public API of a noun is as light as the root package"

// exceptions are justified imports against a floor's rule.
var exceptions = map[string]struct {
	may []string
	why string
}{
	"internal/broker/dispatch/redis": {[]string{"internal/engine"}, "a dispatcher fulfils a role of the engine"},
	"internal/broker/dispatch/rabbitmq": {[]string{".", "worker/protocol", "internal/broker/rabbitmq"},
		"it sends steps to workers in the words of the public protocol, with the driver's confirmed sender"},
	"internal/api/httpapi": {[]string{"remote"}, "a client in the same process calls the routes without a connection"},
	"internal/host/app": {[]string{"internal/host/doctor", "internal/host/node", "internal/host/telemetry"},
		"the server is the engine, its doctor and its telemetry behind one listener"},
	"internal/cli": {[]string{"internal/broker/driver"}, "it prints what a test of a source has found"},
	"internal/cli/bench": {[]string{"internal/broker", "internal/inbox", "internal/store/postgres"},
		"a benchmark of letters is their broker, and finds a schema and a process"},
	"internal/cli/demo/incident": {[]string{"internal/broker/driver", "internal/broker/memory"},
		"the demo brings its own broker along"},
	"internal/cli/manual": {[]string{"internal/api/httpapi"}, "it describes the API, and serves none"},
	"internal/cli/transfer": {[]string{"internal/store/postgres", "internal/store/sqlite"},
		"it opens the databases that a DSN names, and copies rows of which it knows no more than their catalogs say"},
}

// within reports whether a package is in a folder or is it; "." is the root package alone.
func within(folder, name string) bool {
	return name == folder || folder != "." && strings.HasPrefix(name, folder+"/")
}

func floorOf(name string) *floor {
	var at *floor
	for i := range floors {
		if f := &floors[i]; within(f.name, name) && (at == nil || len(f.name) > len(at.name)) {
			at = f
		}
	}
	return at
}

// forTests reports whether only tests may import the floor's packages.
func (f *floor) forTests() bool {
	return f.name == "internal/testkit" || f.name == "internal/checks" || f.name == "proof"
}

// joins reports whether a package is a joint.
func (f *floor) joins(name string) bool {
	return slices.Equal(f.shared, anyRoom) || slices.Contains(f.shared, name)
}

// allows reports whether a package of the floor may import another one.
func (f *floor) allows(name, other string) bool {
	holds := func(folder string) bool { return within(folder, other) }
	if slices.ContainsFunc(exceptions[name].may, holds) {
		return true
	}
	switch home := floorOf(other); {
	case home == f:
		return f.joins(other) || within(name, other)
	case home != nil && home.forTests():
		return f.forTests()
	}
	return slices.ContainsFunc(f.may, holds)
}

func TestFloors(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := p.short()
		f := floorOf(name)
		if f == nil {
			t.Errorf("%s stands on no floor: decide what it may import, and why", name)
			continue
		}
		for _, path := range p.Imports {
			if inModule(path) && !f.allows(name, short(path)) {
				t.Errorf("%s imports %s: %s", name, short(path), f.why)
			}
		}
	}
}

// TestFloorsAreNoWider finds permissions without a use.
func TestFloorsAreNoWider(t *testing.T) {
	t.Parallel()
	used := func(by func(name string) bool, other func(name string) bool) bool {
		return slices.ContainsFunc(packages(t), func(p pkg) bool {
			return by(p.short()) && slices.ContainsFunc(p.Imports, func(path string) bool {
				return inModule(path) && other(short(path))
			})
		})
	}
	for i := range floors {
		f := &floors[i]
		here := func(name string) bool { return floorOf(name) == f }
		for _, entry := range f.may {
			if !used(here, func(other string) bool { return within(entry, other) }) {
				t.Errorf("%s may import %s, but does not: take it out of the table", f.name, entry)
			}
		}
		for _, joint := range f.shared {
			beside := func(name string) bool { return here(name) && !within(name, joint) }
			if joint != anyRoom[0] && !used(beside, func(other string) bool { return other == joint }) {
				t.Errorf("no other package on %s imports %s: it is no joint", f.name, joint)
			}
		}
	}
	for name, exception := range exceptions {
		for _, entry := range exception.may {
			by := func(p string) bool { return p == name }
			if !used(by, func(other string) bool { return within(entry, other) }) {
				t.Errorf("%s may import %s, because %s, but does not: take it out of the table", name, entry, exception.why)
			}
		}
	}
}
