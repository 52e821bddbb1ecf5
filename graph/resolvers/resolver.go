// Package resolvers connects the schema to the domain: one file for each schema
// file, in which every resolver reads its arguments, calls one service and
// returns.
package resolvers

import (
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/activity"
	"github.com/kairship-io/kairship/pkg/fleet/binding"
	"github.com/kairship-io/kairship/pkg/fleet/cluster"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/event"
	"github.com/kairship-io/kairship/pkg/fleet/export"
	"github.com/kairship-io/kairship/pkg/fleet/fieldmanager"
	"github.com/kairship-io/kairship/pkg/fleet/image"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/karmadaresource"
	"github.com/kairship-io/kairship/pkg/fleet/kubeconfig"
	"github.com/kairship-io/kairship/pkg/fleet/manifestpreview"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/podlog"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/rolebinding"
	"github.com/kairship-io/kairship/pkg/fleet/search"
	"github.com/kairship-io/kairship/pkg/fleet/subscription"
	"github.com/kairship-io/kairship/pkg/fleet/timeline"
	"github.com/kairship-io/kairship/pkg/fleet/usage"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write/applications"
	"github.com/kairship-io/kairship/pkg/fleet/write/bulk"
	"github.com/kairship-io/kairship/pkg/fleet/write/clusters"
	"github.com/kairship-io/kairship/pkg/fleet/write/instances"
	"github.com/kairship-io/kairship/pkg/fleet/write/karmadaresources"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
	"github.com/kairship-io/kairship/pkg/fleet/write/moves"
	"github.com/kairship-io/kairship/pkg/fleet/write/namespaces"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/promotion"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/rolebindings"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
)

// Resolver is the root of all resolvers.
type Resolver struct {
	// Fleet is the domain: a service for each noun.
	Fleet Fleet
}

// Fleet is everything that resolvers need.
type Fleet struct {
	Access           *access.Access
	Instances        *instance.Service
	Clusters         *cluster.Service
	MemberClusters   *membercluster.Service
	Namespaces       *namespace.Service
	Workloads        *workload.Service
	Pods             *pod.Service
	PodLogs          *podlog.Service
	Usage            *usage.Service
	FieldManagers    *fieldmanager.Service
	Images           *image.Service
	Bindings         *binding.Service
	Policies         *policy.Service
	Events           *event.Service
	Resources        *resource.Service
	ClusterNodes     *clusternode.Service
	Kubeconfigs      *kubeconfig.Service
	KarmadaResources *karmadaresource.Service
	Search           *search.Service
	ManifestPreviews *manifestpreview.Service
	Timelines        *timeline.Service
	Activity         *activity.Service
	RoleBindings     *rolebinding.Service
	Exports          *export.Service

	// Previews say what a change would do.
	Previews *preview.Service

	// Live follows what changes, Operations how far long operations have come.
	Live       *subscription.Service
	Operations *operation.Service

	// Write changes what is in instances.
	Write Write
}

// Write is a service for each noun that mutations are about.
type Write struct {
	Applications *applications.Service
	Promotion    *promotion.Service
	Resources    *resources.Service
	Namespaces   *namespaces.Service
	Members      *members.Service
	Instances    *instances.Service
	Clusters     *clusters.Service
	RoleBindings *rolebindings.Service
	Policies     *policies.Writes
	Karmada      *karmadaresources.Writes
	Workloads    *workloads.Service
	Bulk         *bulk.Service
	Moves        *moves.Service
}
