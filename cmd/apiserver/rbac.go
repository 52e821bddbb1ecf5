package main

// What Kairship itself may do in the global cluster; the chart's role is generated
// from it, together with what stands beside the code that writes. Everything else is
// done as the person who asks.
//
// Who is this, and may they: tokens are reviewed, rules are read as that person, and
// access is reviewed where a cluster can't list its rules.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups="",resources=users;serviceaccounts,verbs=impersonate
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=uids,verbs=impersonate
//
// What is watched, and what subscriptions follow. By the namespace kube-system they tell
// whether it is still the same cluster.
// +kubebuilder:rbac:groups=kairship.io,resources=instances;clusters;instancerolebindings,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=cluster.clusterpedia.io,resources=pediaclusters,verbs=list;watch
//
// The index. It takes the groups of Kubernetes for subresources, below the names api
// and apis, and no rule can allow them all but with a wildcard. So what is read most has
// a rule, and everything else is read from the collection of all kinds (pkg/index,
// endpointGroups, has the same list).
// +kubebuilder:rbac:groups=clusterpedia.io,resources=collectionresources,resourceNames=any,verbs=get
// +kubebuilder:rbac:groups=clusterpedia.io,resources=resources/v1,resourceNames=api,verbs=get
// +kubebuilder:rbac:groups=clusterpedia.io,resources=resources/apps;resources/cluster.karmada.io;resources/policy.karmada.io;resources/work.karmada.io,resourceNames=apis,verbs=get
//
// Four more depend on the installation, and stand in the chart: the Secrets with the
// credentials of instances (get, watch), the Lease of the index's collector (list,
// watch), and which groups and extra attributes of people are passed on (impersonate).
