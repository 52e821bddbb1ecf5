package main

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/graph/resolvers"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/applications"
	"github.com/kairship-io/kairship/pkg/fleet/write/bulk"
	"github.com/kairship-io/kairship/pkg/fleet/write/karmadaresources"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
	"github.com/kairship-io/kairship/pkg/fleet/write/moves"
	"github.com/kairship-io/kairship/pkg/fleet/write/namespaces"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/promotion"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
	"github.com/kairship-io/kairship/pkg/index"
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

// withTokens begins requests with their consistency tokens.
func withTokens(begin func(context.Context, []string, any) (context.Context, error)) func(context.Context, http.Header, map[string]any) (context.Context, error) {
	return func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error) {
		return begin(ctx, headers.Values(consistency.Header), extensions[consistency.Extension])
	}
}

// newIndexWaiter makes what waits for the index.
func newIndexWaiter(inventory client.Reader, idx *index.Client, clients instanceproxy.Clients) *consistency.IndexWaiter {
	return &consistency.IndexWaiter{Index: idx, Clients: clients, Collected: collectedIn(inventory), Now: time.Now}
}

// collectedIn returns the versions that the index collects, from the cache of the global cluster.
func collectedIn(inventory client.Reader) consistency.Collected {
	return func(ctx context.Context, cluster, group, resource string) (string, bool) {
		var pc pediav1alpha2.PediaCluster
		if err := inventory.Get(ctx, client.ObjectKey{Name: cluster}, &pc, client.UnsafeDisableDeepCopy); err != nil {
			return "", false
		}
		for _, g := range pc.Status.SyncResources {
			if g.Group != group {
				continue
			}
			for _, r := range g.Resources {
				if r.Name == resource && len(r.SyncConditions) > 0 {
					return r.SyncConditions[0].Version, true
				}
			}
		}
		return "", false
	}
}

// newWrites makes the services of all mutations.
func newWrites(global client.Client, fleet resolvers.Fleet, inventory client.Reader, kube kubernetes.Interface, clients instanceproxy.Clients, tokens *consistency.Tokens, recorder *write.Recorder, logger *slog.Logger) resolvers.Write {
	writer := &write.Writer{Access: fleet.Access, Clients: clients, Tokens: tokens, Logger: logger, Now: time.Now, Recorder: recorder}
	one := &workloads.Service{Writer: writer, Workloads: fleet.Workloads, Now: time.Now}
	anyKind, policyWrites := &resources.Service{Writer: writer, Operations: fleet.Operations}, policies.NewWrites(writer)
	memberWrites := &members.Service{
		Writer: writer, Instances: fleet.Instances, Operations: fleet.Operations,
		Inventory: &members.Inventory{
			Rights: write.Rights{Reviews: kube.AuthorizationV1().SubjectAccessReviews()},
			Global: global, Watched: inventory, Visible: fleet.Clusters, Now: time.Now,
		},
	}
	return resolvers.Write{
		Applications: &applications.Service{Writer: writer, Resources: anyKind, Policies: policyWrites},
		Promotion:    &promotion.Service{Writer: writer, Resources: anyKind, Policies: policyWrites},
		Resources:    anyKind,
		Namespaces:   &namespaces.Service{Writer: writer},
		Members:      memberWrites,
		Moves:        &moves.Service{Writer: writer, Members: memberWrites, Operations: fleet.Operations},
		Policies:     policyWrites,
		Karmada:      karmadaresources.NewWrites(writer, fleet.KarmadaResources),
		Workloads:    one,
		Bulk:         &bulk.Service{Workloads: fleet.Workloads, Writes: one},
	}
}

// connectPreviews gives the previews what tries a change, and has the mutations check what they are expected to do.
func connectPreviews(fleet resolvers.Fleet) {
	s := fleet.Previews
	s.Writer, s.Policies = fleet.Write.Members.Writer, fleet.Write.Policies
	fleet.Write.Policies.ExpectPropagation(s.ExpectPolicy)
	fleet.Write.Members.Previews = s
	fleet.ManifestPreviews.Policies, fleet.ManifestPreviews.Applies = fleet.Write.Policies, fleet.Write.Resources
	fleet.Write.Policies.ExpectOverride(fleet.ManifestPreviews.ExpectOverride)
	fleet.Write.Moves.Previews = s
}
