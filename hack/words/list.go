package main

// list holds the words to avoid, one line each, with what to write instead.
var list = []entry{
	{words: `nobody`, instead: `name the actor ("no user", "no client"), or use the passive voice`},
	{words: `somebody|someone`, instead: `name the actor ("a user", "another client", "another owner")`},
	{words: `anybody`, instead: `name the actor ("any user", "a caller")`},
	{words: `whoever`, instead: `name the actor ("a client that", "users who")`},
	{words: `(tells|says) whether`, instead: `"reports whether"`},
	{words: `(tells|says) that`, instead: `"reports that", of a condition "means that", of a function or bool "reports whether"`},
	{words: `tells (what|which|how|why|who)`, instead: `"returns", "reports", "describes" or "shows", with an object`},
	{words: `tell(s|ing)? of`, instead: `"reports", "returns" or "shows"`},
	{words: `say(s|ing)? of`, instead: `"reports about" or "contains"`},
	{words: `(is|are|was|were) gone`, instead: `"was deleted", "no longer exists", "has ended" or "is removed"`},
	{words: `by (itself|themselves)`, instead: `"separately", "alone", "automatically" or "on its own"`},
	{words: `all the same`, instead: `"anyway", "nevertheless" or "too"`},
	{words: `there (is|are|was|were) to`, instead: `name the actor and the verb`},
	{words: `what (is|was) to go`, instead: `"removal" or "cleanup"`},

	{words: `strangers?`, instead: `"clients with unknown tokens", "other users"`},
	{words: `newcomers?`, instead: `"unauthenticated clients", "new users" or the object's kind`},
	{words: `rosters?|catalogues?`, instead: `"cache"`},
	{words: `journeys?`, instead: `"request" or "progress"`},
	{words: `turnstiles?`, instead: `"concurrency limiter"`},
	{words: `execution spaces?`, instead: `"execution namespace"`},

	// Comments in code use these words in their literal sense, or identifiers still have them.
	{words: `crews?|hires?|hired`, instead: `"worker pool" or "worker"`, pagesOnly: true},
	{words: `sentry|sentries`, instead: `"session check"`, pagesOnly: true},
	{words: `lapses?|lapsed`, instead: `"expiry", "expires" or "revocation"`, pagesOnly: true},
	{words: `pulses?`, instead: `"heartbeat"`, pagesOnly: true},
	{words: `editions?`, instead: `"cache"`, pagesOnly: true},
	{words: `linger(s|ed|ing)?|steady`, instead: `"debounce" or "coalesce"`, pagesOnly: true},
	{words: `rehears(e|es|ed|al|ing)`, instead: `"dry run"`, pagesOnly: true},
	{words: `journals?`, instead: `"access log" or "audit log"`, pagesOnly: true},
	{words: `departures?`, instead: `"removal" or "cleanup"`, pagesOnly: true},
	{words: `settle(s|d|r|rs)?|settling`, instead: `"wait for the index" or "finish"`, pagesOnly: true},
	{words: `dearest`, instead: `"most expensive"`, pagesOnly: true},
}
