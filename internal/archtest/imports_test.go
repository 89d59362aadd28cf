package archtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// layers says which packages of the module each package may import, and why
// no more. Dependencies run one way:
//
//	cmd > cli > app > {httpapi, node} > {local, upkeep, store} > engine > {feed, settings} > task > failure
//
// A package that is not listed may not be imported, so a new one is entered here.
var layers = map[string]struct {
	may []string
	why string
}{
	".": {[]string{"internal/envelope", "internal/pointer", "internal/query", "internal/sensitive", "internal/vitals"},
		"a worker binary imports it, and must not carry a server or a database along"},
	"cmd/tasker": {[]string{"internal/cli"}, "main only hands the process over"},
	"blob":       {nil, "an embedder implements it, and needs nothing for that"},
	"embedded": {[]string{".", "blob", "internal/config", "internal/migration", "internal/node", "internal/simulate"},
		"it is the public door of the engine in process, without a rule of its own"},
	"examples/order":          {[]string{"."}, "an application has the public API only"},
	"examples/intake":         {[]string{"."}, "as examples/order"},
	"examples/pipeline":       {nil, "it has no Go code outside its test"},
	"examples/priority-queue": {[]string{"."}, "as examples/order"},
	"examples/report":         {nil, "it has no Go code outside its test"},
	"examples/thumbnails":     {[]string{"."}, "as examples/order"},
	"examples/webhooks":       {nil, "it has no Go code outside its test"},
	"codec":                   {[]string{".", "internal/vault"}, "an application imports it, and gets no more than ciphers"},
	"internal/access":         {nil, "keys and permissions are pure, and know neither HTTP nor configuration"},
	"internal/amqp":           {[]string{"internal/brokerurl"}, "it connects, and has no policy; a worker binary carries it"},
	"internal/app": {[]string{".", "blob", "deadletters", "internal/access", "internal/broker/driver", "internal/config",
		"internal/dashboard", "internal/dashboard/now", "internal/dashboard/session",
		"internal/dashboard/system",
		"internal/dlqapi", "internal/doctor", "internal/httpapi", "internal/inbox", "internal/queueapi",
		"internal/migration", "internal/node", "internal/scheduler", "internal/telemetry", "internal/web", "operate",
		"schedules"},
		"it wires; nobody below it knows the whole"},
	"internal/archtest": {nil, "it looks at the tree from outside"},
	"internal/attempt":  {[]string{"internal/failure"}, "it runs a function, whatever that does; applications carry it"},
	"internal/audit": {[]string{"internal/chain", "internal/engine", "internal/task"},
		"it seals acts through roles of its own; it knows no SQL and no HTTP"},
	"internal/bench": {[]string{".", "deadletters", "embedded", "internal/broker/driver", "internal/broker/memory",
		"internal/amqp", "internal/broker/kafka", "internal/broker/rabbitmq", "internal/broker/redis", "internal/kafkaurl",
		"internal/redisurl",
		"internal/deadletter", "internal/dispatch/redis", "internal/failure", "internal/inbox", "internal/node",
		"internal/settings", "internal/store/postgres", "operate", "rabbitmq"},
		"what is measured is what a user of the public API gets; past it goes only what makes a schema, finds a process " +
			"or is the broker of dead letters"},
	"internal/cli": {[]string{"flow", ".", "deadletters", "internal/access", "internal/app",
		"internal/bench", "internal/config",
		"internal/broker/driver", "internal/demo", "internal/demo/incident",
		"internal/doctor", "internal/document", "internal/envelope", "docs", "internal/manual",
		"internal/migration", "internal/queueapi",
		"internal/script",
		"internal/settings", "internal/simulate", "internal/starter", "internal/task", "internal/template",
		"internal/terminal",
		"internal/transfer", "internal/vault",
		"internal/wording", "operate",
		"rabbitmq", "schedules", "waits"},
		"commands speak to a Backend; only template validate and simulate, and what looks after a database, work " +
			"without one"},
	"internal/broker": {[]string{"internal/broker/driver", "internal/clock", "internal/task"},
		"it is the same for every broker, and knows no driver"},
	"internal/broker/driver": {[]string{"internal/deadletter"},
		"the seam knows messages, and nothing of who receives or sends them"},
	"internal/broker/format": {[]string{"internal/broker/driver", "internal/deadletter", "internal/failure",
		"internal/task"}, "it reads a message, however that came here"},
	"internal/broker/post": {[]string{"internal/broker/driver", "internal/outbound", "internal/posturl"},
		"a driver knows the seam, and no other driver"},
	"internal/broker/kafka": {[]string{"internal/broker/driver", "internal/clock", "internal/deadletter",
		"internal/kafkaurl"}, "a driver knows the seam, and no other driver"},
	"internal/broker/rabbitmq": {[]string{"internal/amqp", "internal/broker/driver", "internal/deadletter"},
		"a driver knows the seam, and no other driver"},
	"internal/broker/redis": {[]string{"internal/broker/driver", "internal/clock", "internal/deadletter",
		"internal/redislist", "internal/redisurl"}, "a driver knows the seam, and no other driver"},
	"internal/broker/memory": {[]string{"internal/broker/driver", "internal/clock", "internal/deadletter"},
		"a driver knows the seam, and no other driver"},
	"internal/chain":      {nil, "hashes are computed alike in a server and in a client that does not trust it"},
	"internal/clienttest": {nil, "it runs workers in other processes; its tests start what they need"},
	"internal/clock":      {nil, "it reads the machine's clocks and knows nothing of what time is for"},
	"internal/cron":       {[]string{"internal/schedule"}, "it compiles expressions, and knows neither zones nor tasks"},
	"internal/coalesce":   {nil, "it knows nothing of what it gathers"},
	"internal/due":        {[]string{"internal/task"}, "it knows nothing of what its rows are"},
	"internal/blobstore":  {[]string{"blob"}, "it stores bytes under keys, and knows nothing of tasks"},
	"internal/jsonstream": {nil, "it reads any document, and keeps nothing of it"},
	"internal/config": {[]string{".", "blob", "deadletters/model", "internal/access", "internal/blobstore",
		"internal/deadletter", "internal/document", "internal/settings",
		"internal/task", "internal/vault", "internal/webhook", "internal/wording"},
		"it fills in the structs that others declare"},
	"internal/dashboard": {[]string{".", "internal/access", "internal/dashboard/audit", "internal/dashboard/fleet",
		"internal/dashboard/inbox", "internal/dashboard/schedules", "internal/dashboard/sources",
		"internal/dashboard/live", "internal/dashboard/now",
		"internal/dashboard/page", "internal/dashboard/redrives", "internal/dashboard/static", "internal/dashboard/system",
		"internal/dashboard/tasks", "internal/dashboard/templates",
		"internal/web"},
		"it puts pages together; what they show and do comes from the API"},
	"internal/dashboard/page": {[]string{".", "internal/access", "internal/dashboard/diff", "internal/envelope",
		"internal/web"},
		"the kit knows viewers and HTML, and nothing of what pages are about"},
	"internal/dashboard/chart": {[]string{"."}, "drawings are pure, and know the states of steps only"},
	"internal/dashboard/diff":  {nil, "it compares texts"},
	"internal/dashboard/live": {[]string{".", "internal/access", "internal/web"},
		"it knows events, and no page"},
	"internal/dashboard/tasks": {[]string{".", "internal/access",
		"internal/dashboard/chart", "internal/dashboard/live", "internal/dashboard/page",
		"operate"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/audit": {[]string{".", "internal/access", "internal/dashboard/page", "operate"},
		"a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/sources": {[]string{".", "deadletters", "internal/access", "internal/dashboard/live",
		"internal/dashboard/page"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/schedules": {[]string{".", "internal/access", "internal/dashboard/live",
		"internal/dashboard/page", "schedules"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/redrives": {[]string{".", "deadletters", "internal/access",
		"internal/dashboard/chart", "internal/dashboard/live",
		"internal/dashboard/page"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/fleet": {[]string{".", "flow", "internal/access", "internal/dashboard/live",
		"internal/dashboard/page",
		"internal/queueapi"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/now": {[]string{"flow", ".", "deadletters", "internal/access", "internal/dashboard/live",
		"internal/dashboard/page", "internal/queueapi", "operate", "waits"},
		"a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/templates": {[]string{".", "internal/access", "internal/dashboard/chart",
		"internal/dashboard/diff", "internal/dashboard/live", "internal/dashboard/page", "operate"},
		"a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/system": {[]string{".", "internal/access", "internal/dashboard/live", "internal/dashboard/page",
		"internal/queueapi", "operate"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/dashboard/session": {[]string{".", "internal/access"}, "it knows keys and cookies, and no page"},
	"internal/dashboard/static":  {nil, "it is files"},
	"internal/dashboard/inbox": {[]string{".", "deadletters", "internal/access",
		"internal/dashboard/chart", "internal/dashboard/diff", "internal/dashboard/live",
		"internal/dashboard/page"}, "a family of pages is a client of the API, and knows no other family"},
	"internal/demo": {[]string{"."}, "the demo is a user of the public API like any other"},
	"internal/demo/incident": {[]string{"deadletters", "internal/broker/driver", "internal/broker/memory",
		"internal/deadletter", "internal/demo"}, "it is an application and its operator: the one knows the broker, the " +
		"other the public API"},
	"internal/dispatch/rabbitmq": {[]string{".", "internal/amqp", "internal/broker/driver", "internal/broker/rabbitmq",
		"internal/clock", "internal/task"},
		"it carries leases that the engine has committed, and knows the engine by an interface of its own"},
	"internal/dispatch/redis": {[]string{"internal/engine", "internal/redisurl", "internal/task"},
		"a dispatcher keeps what the engine tells it, and knows no store"},
	"internal/dlqapi":  {[]string{"deadletters"}, "a compatibility family knows the public API, and no other family"},
	"internal/doctest": {nil, "it runs the documents; its tests start what they need"},
	"docs":             {nil, "it holds the pages, and knows nothing of them"},
	"internal/document": {[]string{"internal/pointer", "internal/wording"},
		"it reads a document, whatever that says"},
	"internal/doctor": {[]string{"blob", "internal/amqp", "internal/dispatch/rabbitmq",
		"internal/broker/driver", "internal/broker/format", "internal/broker/kafka", "internal/broker/redis",
		"internal/config", "internal/migration", "internal/store", "internal/store/postgres",
		"internal/store/sqlite", "internal/task", "internal/vault"},
		"it looks at a database and its brokers from outside, and opens no store"},
	"internal/deadletter": {[]string{"deadletters/model",
		"internal/envelope", "internal/failure", "internal/pointer", "internal/posturl",
		"internal/sensitive",
		"internal/task"},
		"the domain is pure: the standard library only"},
	"internal/engine": {[]string{"internal/access", "internal/clock", "internal/coalesce", "internal/deadletter",
		"internal/due", "internal/envelope", "internal/expr",
		"internal/failure", "internal/feed", "internal/limit", "internal/pointer",
		"internal/rate", "internal/sensitive", "internal/settings", "internal/task"},
		"the engine declares the store that it needs, and does not know " +
			"how it is reached; the name of the key that a request carries it stores with what is done"},
	"internal/executionapi": {[]string{".", "internal/queueapi", "operate"},
		"a compatibility family is a view of the public API; it knows no engine"},
	"internal/envelope": {nil, "a form of values is the same in a server and in a client"},
	"internal/expr":     {[]string{"internal/envelope"}, "it evaluates an expression over JSON values, whatever those are of"},
	"internal/feed": {[]string{"internal/deadletter", "internal/task"},
		"it passes on what transactions did, and asks its Source for the rest"},
	"internal/failure": {nil, "what kind of failure something is does not depend on what failed"},
	"internal/httpapi": {[]string{"internal/httpapi/flowcontrol", "flow", ".", "deadletters",
		"internal/access", "internal/dlqapi",
		"internal/executionapi", "internal/httpapi/dlq", "internal/httpapi/endpoint", "internal/httpapi/executions",
		"internal/httpapi/inbox", "internal/httpapi/masking", "internal/httpapi/queue", "internal/httpapi/schedules",
		"internal/httpapi/stepworker",
		"internal/httpapi/taskworker",
		"internal/httpapi/topics", "internal/httpapi/waiting", "internal/httpapi/workers",
		"internal/strictjson", "internal/task", "internal/template",
		"internal/web", "operate", "schedules", "waits"},
		"it serves a Backend, whichever; it does not know the store"},
	"internal/httpapi/dlq": {[]string{"deadletters", "internal/access", "internal/dlqapi",
		"internal/httpapi/endpoint", "internal/wording"}, "a family of routes knows no other family"},
	"internal/httpapi/endpoint": {[]string{".", "internal/access", "internal/pointer", "internal/strictjson",
		"internal/task", "internal/template", "internal/web", "internal/wording"},
		"it turns functions into operations, and knows no route and no backend"},
	"internal/httpapi/executions": {[]string{"internal/access", "internal/executionapi", "internal/httpapi/endpoint",
		"internal/web"}, "a family of routes knows no other family"},
	"internal/httpapi/flowcontrol": {[]string{"flow", "internal/access", "internal/httpapi/endpoint"},
		"a family of routes knows no other family"},
	"internal/httpapi/waiting": {[]string{"internal/access", "internal/httpapi/endpoint", "waits"},
		"a family of routes knows no other family"},
	"internal/httpapi/inbox": {[]string{".", "deadletters", "internal/access", "internal/httpapi/endpoint",
		"internal/httpapi/masking",
		"internal/web"}, "a family of routes knows no other family"},
	"internal/httpapi/masking": {[]string{".", "deadletters", "internal/access", "internal/dlqapi",
		"internal/executionapi", "internal/queueapi", "internal/sensitive", "internal/web", "operate", "schedules"},
		"it knows the types of answers, and no route and no backend"},
	"internal/httpapi/queue": {[]string{".", "internal/access", "internal/httpapi/endpoint",
		"internal/httpapi/taskworker", "internal/queueapi", "internal/web", "operate"},
		"a family of routes knows no other family"},
	"internal/httpapi/schedules": {[]string{".", "internal/access", "internal/httpapi/endpoint", "schedules"},
		"a family of routes knows no other family"},
	"internal/httpapi/stepworker": {[]string{".", "internal/access", "internal/httpapi/endpoint",
		"internal/strictjson", "internal/web"},
		"the worker protocol's own words know no others"},
	"internal/httpapi/taskworker": {[]string{".", "internal/httpapi/endpoint",
		"internal/httpapi/stepworker", "internal/queueapi"},
		"verbs of several families know no route"},
	"internal/httpapi/topics": {[]string{"deadletters", "internal/access", "internal/httpapi/endpoint"},
		"a family of routes knows no other family"},
	"internal/httpapi/workers": {[]string{".", "internal/access", "internal/httpapi/endpoint",
		"internal/httpapi/stepworker", "internal/httpapi/taskworker"},
		"a family of routes knows no other family"},
	"internal/inbox": {[]string{"deadletters/model",
		"internal/access", "internal/deadletter", "internal/due", "internal/engine", "internal/failure",
		"internal/intake", "internal/posturl", "internal/sensitive", "internal/task", "internal/webhook"},
		"it decides with the domain and stores through its roles; it knows no SQL and no HTTP"},
	"internal/intake": {[]string{"internal/deadletter", "internal/sensitive", "internal/task"},
		"it decides what a message becomes, and knows neither brokers nor the engine"},
	"internal/inbox/carrier": {[]string{"deadletters/model",
		"internal/broker", "internal/broker/driver", "internal/broker/format",
		"internal/deadletter", "internal/inbox", "internal/task"},
		"it joins the inbox and the brokers, which know nothing of each other"},
	"internal/inbox/news": {[]string{".", "deadletters", "internal/deadletter", "internal/posturl", "internal/task"},
		"it gives events their public form, the same in streams and for webhooks"},
	"internal/inbox/public": {[]string{".", "deadletters", "deadletters/model", "internal/deadletter", "internal/dlqapi",
		"internal/failure", "internal/inbox", "internal/posturl", "internal/refusal", "internal/task"},
		"it turns the public types into the inbox's and back, and opens nothing"},
	"internal/posturl":  {nil, "the domain is pure: the standard library only"},
	"internal/schedule": {[]string{"internal/task"}, "the domain is pure: the standard library only"},
	"internal/scheduler": {[]string{"internal/access", "internal/deadletter", "internal/due", "internal/engine",
		"internal/schedule", "internal/settings", "internal/task"},
		"it decides with the domain, tells events, and stores through its roles; it knows no SQL and no HTTP"},
	"internal/scheduler/public": {[]string{".", "internal/refusal", "internal/schedule", "internal/scheduler",
		"internal/task", "schedules"}, "it turns the public types into the domain's and back, and opens nothing"},
	"internal/local": {[]string{"flow", ".", "internal/access", "internal/audit", "internal/deadletter", "internal/engine",
		"internal/envelope", "internal/executionapi", "internal/expr", "internal/failure",
		"internal/feed",
		"internal/inbox/news", "internal/jsonstream", "internal/limit", "internal/posturl",
		"internal/queueapi", "internal/refusal", "internal/sensitive", "internal/task", "internal/template",
		"internal/wording", "operate", "waits"},
		"it turns the public types into the engine's and back, and opens nothing"},
	"internal/migration": {[]string{"internal/task"}, "it migrates whatever list it is given, and knows no store"},
	"internal/node": {[]string{".", "blob", "deadletters", "internal/amqp", "internal/audit",
		"internal/broker/driver", "internal/broker/format",
		"internal/broker/kafka", "internal/broker/post", "internal/broker/rabbitmq", "internal/broker/redis",
		"internal/chain", "internal/clock", "internal/cron",
		"internal/deadletter", "internal/dispatch/rabbitmq", "internal/dispatch/redis", "internal/dlqapi", "internal/engine",
		"internal/inbox", "internal/inbox/carrier", "internal/inbox/news", "internal/inbox/public",
		"internal/local", "internal/migration", "internal/rule", "redisqueue",
		"internal/scheduler", "internal/scheduler/public", "internal/sensitive", "internal/settings",
		"internal/store", "internal/store/postgres", "internal/store/sealed", "internal/store/sqlite", "internal/task",
		"internal/template",
		"internal/upkeep", "internal/vault", "internal/webhook", "schedules"},
		"it wires an engine: the one place that picks the store, the dispatcher and the clock"},
	"internal/pointer":  {nil, "it moves pointers and finds values, whatever of; a worker binary carries it"},
	"internal/mutation": {nil, "it runs a tool over packages, and knows nothing of them"},
	"internal/probe":    {nil, "it asks an address how it is, and knows no engine"},
	"internal/refusal":  {[]string{".", "internal/pointer", "internal/task"}, "it knows errors only"},
	"internal/query":    {nil, "it writes parameters, and knows no request"},
	"internal/queueapi": {[]string{"flow", ".", "internal/query"},
		"a compatibility family knows the public API, and no other family"},
	"internal/rate": {[]string{"internal/task"},
		"it counts over time, whatever that is; every call says what time it is"},
	"internal/redislist": {nil, "it moves entries of a list, whatever they are; consumers outside of the engine carry it"},
	"internal/redisurl":  {[]string{"internal/brokerurl"}, "it reads a URL, whoever connects with it"},
	"internal/script":    {[]string{"."}, "running a program is a handler like any other"},
	"internal/kafkaurl":  {[]string{"internal/brokerurl"}, "it reads a URL, whoever connects with it"},
	"internal/brokerurl": {nil, "it reads a URL, whatever broker that is of; a worker binary carries it"},
	"internal/rule": {[]string{"internal/deadletter", "internal/expr", "internal/failure", "internal/task"},
		"it compiles expressions about facts, and knows neither where they come from nor where rules are kept"},
	"internal/settings": {[]string{"internal/failure", "internal/task"},
		"what can be configured is known without the engine"},
	"internal/simulate": {[]string{".", "internal/document", "internal/engine", "internal/settings",
		"internal/store/sqlite", "internal/task", "internal/template", "internal/upkeep", "internal/wording"},
		"it runs an engine on a clock of its own, and knows no server"},
	"internal/spool": {[]string{"internal/coalesce"}, "it keeps records, whatever they are; a worker binary carries it"},
	"internal/store": {[]string{"deadletters/model",
		"internal/audit", "internal/chain", "internal/deadletter", "internal/engine",
		"internal/feed", "internal/inbox", "internal/limit", "internal/schedule", "internal/scheduler",
		"internal/settings", "internal/store/nesting", "internal/task"},
		"portable SQL knows no database engine"},
	"internal/store/memstore": {[]string{"internal/deadletter", "internal/engine", "internal/feed",
		"internal/settings", "internal/store/nesting", "internal/task"},
		"a store does not know its siblings"},
	"internal/vault":         {[]string{"internal/sensitive"}, "it encrypts values, whatever stores them"},
	"internal/store/nesting": {nil, "it marks contexts, whatever the transaction is"},
	"internal/store/postgres": {[]string{"internal/clock", "internal/deadletter", "internal/engine", "internal/feed",
		"internal/migration", "internal/store", "internal/store/nesting", "internal/task"},
		"a store does not know its siblings"},
	"internal/store/sealed": {[]string{"internal/engine", "internal/schedule", "internal/scheduler", "internal/sensitive",
		"internal/settings", "internal/task", "internal/vault"},
		"it is a layer over any store, and knows none"},
	"internal/store/sqlite": {[]string{"internal/coalesce", "internal/engine", "internal/migration", "internal/store",
		"internal/store/nesting", "internal/task"}, "a store does not know its siblings"},
	"internal/sensitive": {[]string{"internal/pointer"},
		"what is selected in a document does not depend on what the document is of"},
	"internal/strictjson": {[]string{".", "internal/pointer", "internal/task", "internal/wording"},
		"it reads a document into whatever value, and knows no route"},
	"internal/manual": {[]string{"internal/httpapi"}, "the API describes itself; pages are files"},
	"internal/limit":  {nil, "how many may pass at a time is arithmetic"},
	"internal/task": {[]string{"internal/envelope", "internal/failure", "internal/limit"},
		"the domain is pure: the standard library only"},
	"internal/telemetry": {[]string{"internal/clock", "internal/engine", "internal/failure", "internal/outbound",
		"internal/task"},
		"it observes the engine, which knows no library for that"},
	"internal/template": {[]string{"internal/document", "internal/expr", "internal/limit", "internal/pointer",
		"internal/sensitive", "internal/task", "internal/wording"},
		"reading YAML needs the domain only"},
	"internal/testenv": {[]string{"internal/browsertest/chromium", "internal/kafkatest", "internal/pgtest",
		"internal/rabbittest", "internal/redistest", "internal/s3test", "internal/testserver"},
		"it starts servers as the tests would, and knows nothing of Tasker"},
	"internal/transfer": {[]string{"internal/config", "internal/migration", "internal/store/postgres",
		"internal/store/sqlite", "internal/task"},
		"it opens the databases that a DSN names, and copies rows that it knows no more of than their catalogs say"},
	"internal/typegen": {nil, "it turns one text into another"},
	"internal/upkeep": {[]string{"internal/clock", "internal/due", "internal/engine", "internal/probe",
		"internal/settings", "internal/task"},
		"a loop calls a verb of the engine at an interval"},
	"internal/web": {[]string{".", "internal/access"},
		"it stands before any handler, and knows no route and no backend"},
	"deadletters/model": {nil, "values that the domain and the public API share: the standard library only"},
	"deadletters": {[]string{".", "deadletters/model", "internal/query"},
		"the public API of dead letters is as light as the root package"},
	"flow":  {[]string{".", "internal/query"}, "the public API of operators is as light as the root package"},
	"waits": {[]string{".", "internal/query"}, "the public API of waiting steps is as light as the root package"},
	"operate": {[]string{".", "internal/chain", "internal/query"},
		"the public API of operators is as light as the root package"},
	"schedules": {[]string{".", "internal/query"},
		"the public API of schedules is as light as the root package"},
	"tasktest": {[]string{"."}, "tests of applications import it, and get no server"},
	"rabbitmq": {[]string{".", "internal/amqp"}, "a worker binary imports it: a client of RabbitMQ, and no server"},
	"kafka": {[]string{"internal/attempt", "internal/clock", "internal/failure", "internal/spool"},
		"applications that know no Tasker import it: a client of Kafka, and no engine"},
	"redisqueue": {[]string{"internal/attempt", "internal/clock", "internal/coalesce", "internal/failure",
		"internal/redislist", "internal/spool"},
		"applications that know no Tasker import it: a client of Redis, and no engine"},
	"internal/outbound": {nil, "it makes connections, whatever they are for"},
	"internal/vitals":   {nil, "it measures the process, whatever that does; a worker binary carries it"},
	"internal/webhook":  {[]string{"internal/outbound"}, "it signs and sends what it is given"},
	"internal/starter":  {nil, "it writes files"},
	"internal/terminal": {nil, "it lays out text, and does not know what it is about"},
	"internal/wording":  {nil, "it knows words, and not what they are about"},
}

// testOnly are packages that no shipped package may import: they are the tests
// of others.
var testOnly = map[string][]string{
	"internal/apitest":               {},
	"internal/broker/brokertest":     {"internal/broker/driver", "internal/deadletter"},
	"internal/browsertest":           {"internal/browsertest/chromium", "internal/testserver"},
	"internal/browsertest/chromium":  {"internal/testserver"},
	"internal/crashtest":             {".", "internal/task", "waits"},
	"internal/crashtest/load":        {".", "internal/crashtest", "waits"},
	"internal/crashtest/fleet":       {},
	"internal/crashtest/letters":     {},
	"internal/crashtest/process":     {},
	"internal/crashtest/upgrade":     {},
	"internal/deploytest":            {},
	"internal/dispatch/dispatchtest": {"internal/dispatch/memory", "internal/engine", "internal/task"},
	"internal/dispatch/memory":       {"internal/engine", "internal/task"},
	"internal/engine/scenario":       {},
	"internal/kafkatest":             {"internal/testserver"},
	"internal/pagetest":              {"internal/cli", "internal/crashtest/process"},
	"internal/pgtest":                {"internal/testserver"},
	"internal/rabbittest":            {"internal/testserver"},
	"internal/redistest":             {"internal/testserver"},
	"internal/reference":             {},
	"internal/s3test":                {"internal/testserver"},
	"internal/sqlitetest":            {"internal/store/sqlite"},
	"internal/postgrestest":          {"internal/pgtest", "internal/store/postgres"},
	"internal/store/storetest": {"deadletters/model",
		"internal/deadletter", "internal/engine", "internal/failure", "internal/feed",
		"internal/inbox", "internal/limit", "internal/schedule", "internal/scheduler", "internal/settings",
		"internal/store/nesting", "internal/task"},
	"internal/testserver": {},
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := p.short()
		rule, ok := layers[name]
		if !ok {
			if rule.may, ok = testOnly[name]; !ok && len(p.GoFiles) > 0 {
				t.Errorf("%s is not in the table of layers: decide what it may import, and why", name)
				continue
			}
			rule.why = "it is for tests only"
		}
		for _, path := range p.Imports {
			if inModule(path) && !slices.Contains(rule.may, short(path)) {
				t.Errorf("%s imports %s: %s", name, short(path), rule.why)
			}
		}
	}
}

// TestLayersAreNoWider keeps the table from allowing what nobody does any more.
func TestLayersAreNoWider(t *testing.T) {
	t.Parallel()
	for name, rule := range layers {
		if name == "internal/doctest" || name == "internal/archtest" {
			continue // tests only
		}
		p := find(t, name)
		for _, other := range rule.may {
			path := module + "/" + other
			if other == "." {
				path = module
			}
			if !slices.Contains(p.Imports, path) {
				t.Errorf("%s may import %s, but does not: take it out of the table", name, other)
			}
		}
	}
}

// light is all that a worker binary gets with the public packages.
var light = []string{"github.com/google/uuid", module + "/deadletters/model", module + "/internal/chain",
	module + "/internal/envelope", module + "/internal/pointer",
	module + "/internal/query", module + "/internal/sensitive", module + "/internal/vitals"}

func TestPublicPackagesAreLight(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "deadletters", "flow", "operate", "schedules", "tasktest", "waits"} {
		public := find(t, name)
		if !slices.Contains(public.Deps, light[0]) {
			t.Errorf("%s does not use %s any more: change the rule", name, light[0])
		}
		for _, path := range public.Deps {
			if !standard(path) && !slices.Contains(light, path) && path != module {
				t.Errorf("%s brings %s along: every worker binary would carry it", name, path)
			}
		}
	}
}

// consumerLight is all that an application gets with each package for consumers: a client of its broker, and no SQL.
var consumerLight = map[string][]string{
	"redisqueue": {"github.com/redis/rueidis", "golang.org/x/sys", module + "/internal/attempt",
		module + "/internal/clock", module + "/internal/coalesce", module + "/internal/failure",
		module + "/internal/redislist", module + "/internal/spool"},
	"kafka": {"github.com/twmb/franz-go", "github.com/klauspost/compress", "github.com/pierrec/lz4/v4",
		"golang.org/x/crypto", "golang.org/x/sys", module + "/internal/attempt", module + "/internal/clock",
		module + "/internal/coalesce", module + "/internal/failure", module + "/internal/spool"},
}

func TestConsumersAreLight(t *testing.T) {
	t.Parallel()
	for name, may := range consumerLight {
		for _, path := range find(t, name).Deps {
			light := func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }
			if path == "database/sql" || !standard(path) && !slices.ContainsFunc(may, light) {
				t.Errorf("%s brings %s along: every application would carry it", name, path)
			}
		}
		if !slices.ContainsFunc(find(t, name).Deps, func(path string) bool { return strings.HasPrefix(path, may[0]) }) {
			t.Errorf("%s does not use %s any more: change the rule", name, may[0])
		}
	}
}

// TestRabbitMQIsLight: a worker that gets its steps over RabbitMQ carries its client, and no more than another worker.
func TestRabbitMQIsLight(t *testing.T) {
	t.Parallel()
	worker := find(t, ".").Deps
	for _, path := range find(t, "rabbitmq").Deps {
		if path == module || standard(path) || slices.Contains(worker, path) {
			continue
		}
		if path != module+"/internal/amqp" && path != module+"/internal/brokerurl" &&
			path != "github.com/rabbitmq/amqp091-go" && !strings.HasPrefix(path, "github.com/rabbitmq/amqp091-go/") {
			t.Errorf("rabbitmq brings %s along: every worker would carry it", path)
		}
	}
}

// TestOneDoorToTheStores: one package wires an engine to its store and one puts an API
// before it. What else opens a store looks after databases, and serves nobody. internal/manual describes the API, and
// has no engine.
func TestOneDoorToTheStores(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := p.short()
		stores, serves := 0, false
		for _, path := range p.Imports {
			switch short(path) {
			case "internal/store/memstore", "internal/store/postgres", "internal/store/sqlite":
				stores++
			case "internal/httpapi":
				serves = true
			}
		}
		if serves && name != "internal/app" && name != "internal/manual" {
			t.Errorf("%s imports internal/httpapi: only internal/app puts an API before an engine", name)
		}
		if serves && stores > 0 || slices.Contains(p.Imports, module+"/internal/local") && name != "internal/node" {
			t.Errorf("%s wires an engine: internal/node does", name)
		}
	}
}

// verbs are the packages below internal/httpapi that families of routes share; every other one is a family.
var verbs = []string{"internal/httpapi/endpoint", "internal/httpapi/masking", "internal/httpapi/stepworker",
	"internal/httpapi/taskworker"}

// TestFamiliesOfRoutes: only internal/httpapi knows the families, so each can be read, changed and deleted alone.
func TestFamiliesOfRoutes(t *testing.T) {
	t.Parallel()
	families := 0
	for _, p := range packages(t) {
		name := p.short()
		if strings.HasPrefix(name, "internal/httpapi/") && !slices.Contains(verbs, name) {
			families++
		}
		for _, path := range p.Imports {
			other := short(path)
			if strings.HasPrefix(other, "internal/httpapi/") && !slices.Contains(verbs, other) && name != "internal/httpapi" {
				t.Errorf("%s imports %s: only internal/httpapi puts families of routes together", name, other)
			}
		}
	}
	if families < 2 {
		t.Errorf("there are %d families of routes below internal/httpapi; the rule is not read as it should be", families)
	}
}

// homes says which packages may import a module that is not ours. A dependency
// with one home can be replaced there.
var homes = map[string][]string{
	"github.com/chromedp/": {"internal/browsertest"},
	"github.com/danielgtaylor/huma/v2": {"internal/httpapi", "internal/httpapi/endpoint", "internal/httpapi/inbox",
		"internal/httpapi/stepworker", "internal/httpapi/taskworker", "internal/httpapi/workers", "internal/strictjson"},
	"github.com/aws/aws-sdk-go-v2": {"internal/blobstore"},
	"github.com/expr-lang/expr":    {"internal/expr", "internal/rule"},
	"github.com/goccy/go-yaml":     {"internal/document"},
	"github.com/google/go-cmp":     {"internal/dispatch/dispatchtest", "internal/store/storetest"},
	"github.com/google/uuid": {".", "examples/order", "flow", "internal/httpapi/flowcontrol", "waits",
		"internal/httpapi/waiting", "deadletters",
		"internal/bench", "internal/cli", "internal/crashtest",
		"internal/crashtest/load", "internal/dashboard/audit", "internal/dashboard/inbox",
		"internal/dashboard/page", "internal/dashboard/redrives", "internal/dashboard/tasks",
		"internal/demo",
		"internal/dlqapi", "internal/executionapi", "internal/httpapi",
		"internal/httpapi/dlq", "internal/httpapi/executions",
		"internal/httpapi/endpoint", "internal/httpapi/inbox", "internal/httpapi/masking",
		"internal/httpapi/queue", "internal/httpapi/stepworker", "internal/httpapi/taskworker", "internal/httpapi/workers",
		"internal/inbox/news", "internal/inbox/public", "internal/local", "internal/scheduler/public", "schedules",
		"internal/node", "internal/query", "internal/queueapi", "internal/script", "internal/strictjson",
		"operate", "rabbitmq", "tasktest"},
	// embedded and node: SubmitTx is given a transaction of pgx
	"github.com/jackc/pgx/v5": {"embedded", "internal/bench", "internal/doctor", "internal/node",
		"internal/pgtest", "internal/postgrestest", "internal/store/postgres", "internal/transfer"},
	"github.com/netresearch/go-cron": {"internal/cron"},
	"github.com/pressly/goose/v3":    {"internal/migration"},
	"github.com/prometheus/":         {"internal/telemetry"},
	"github.com/rabbitmq/amqp091-go": {"internal/amqp", "internal/broker/rabbitmq",
		"internal/dispatch/rabbitmq", "rabbitmq"},
	"github.com/redis/rueidis": {"internal/bench", "internal/broker/redis", "internal/dispatch/redis",
		"internal/redislist", "internal/redisurl", "redisqueue"},
	"github.com/santhosh-tekuri/jsonschema/": {"internal/template"},
	"github.com/yuin/goldmark":               {"internal/manual"},
	"github.com/spf13/cobra":                 {"internal/cli"},
	"github.com/spf13/pflag":                 {"internal/cli"},
	"github.com/twmb/franz-go/": {"internal/bench", "internal/broker/kafka", "internal/kafkatest",
		"internal/kafkaurl",
		"kafka", "examples/intake"},
	"go.opentelemetry.io/": {"internal/telemetry"},
	"go.uber.org/goleak":   {"internal/broker/brokertest"},
	"golang.org/x/sync": {"internal/bench", "internal/crashtest",
		"internal/crashtest/load", "internal/demo", "internal/upkeep"},
	"golang.org/x/term":          {"internal/cli"},
	"golang.org/x/text":          {"internal/template", "internal/terminal"},
	"google.golang.org/protobuf": {"internal/broker/format", "internal/telemetry"},
	"modernc.org/sqlite":         {"internal/store/sqlite"},
	"pgregory.net/rapid":         {"internal/dispatch/dispatchtest"},
}

func TestDependenciesHaveHomes(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			if standard(path) || inModule(path) {
				continue
			}
			at := slices.Sorted(maps.Keys(homes))
			i := slices.IndexFunc(at, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
			if i < 0 {
				t.Errorf("%s imports %s, which has no home: the default answer to a new dependency is no", p.short(), path)
			} else if !slices.Contains(homes[at[i]], p.short()) {
				t.Errorf("%s imports %s, whose home is %v: ask that package instead", p.short(), path, homes[at[i]])
			}
		}
	}
}
