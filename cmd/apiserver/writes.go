package main

import (
	"log/slog"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kairship-io/kairship/graph/resolvers"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/namespaces"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// newTokens makes what issues and reads consistency tokens.
func newTokens(o *options, kube kubernetes.Interface) *consistency.Tokens {
	namespace, name, _ := strings.Cut(o.consistencySecret, "/")
	return &consistency.Tokens{
		Keys: &consistency.SecretKeys{Secrets: kube.CoreV1(), Namespace: namespace, Name: name, Now: time.Now},
		Now:  time.Now,
	}
}

// newWrites makes the services of all mutations.
func newWrites(permissions *access.Access, clients instanceproxy.Clients, tokens *consistency.Tokens, logger *slog.Logger) resolvers.Write {
	writer := &write.Writer{Access: permissions, Clients: clients, Tokens: tokens, Logger: logger, Now: time.Now}
	return resolvers.Write{
		Resources:  &resources.Service{Writer: writer},
		Namespaces: &namespaces.Service{Writer: writer},
		Policies:   policy.NewWrites(writer),
	}
}
