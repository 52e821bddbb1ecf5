package rpc

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"github.com/kairship-io/kairship/graph/server/readiness"
)

// Health returns the path and the handler of the health service, which answers what /readyz does, to everyone.
func Health(s *Service, ready *readiness.Handler) (string, http.Handler) {
	return grpchealth.NewHandler(checker{name: strings.Trim(s.Path, "/"), ready: ready}, smallRequests)
}

// checker implements grpchealth.Checker.
type checker struct {
	name  string
	ready *readiness.Handler
}

// Check implements grpchealth.Checker. The server as a whole has no name.
func (c checker) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if req.Service != "" && req.Service != c.name {
		return nil, connect.NewError(connect.CodeNotFound, nil)
	}
	if !c.ready.Ready(ctx) {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
}
