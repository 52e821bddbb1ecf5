package main

// What Kairship itself may do in the global cluster; the chart's role is generated
// from it, together with what stands beside the code that writes. Everything else is
// done as the person who asks.
//
// Who is this, and may they: tokens are reviewed, rules are read as that person, and
// access is reviewed where a cluster can't list its rules.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups="",resources=users;groups;serviceaccounts,verbs=impersonate
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=uids,verbs=impersonate
//
// What is watched, and what subscriptions follow.
// +kubebuilder:rbac:groups=kairship.io,resources=instances;clusters;instancerolebindings,verbs=list;watch
// +kubebuilder:rbac:groups=cluster.clusterpedia.io,resources=pediaclusters,verbs=list;watch
//
// The index. It takes the groups of Kubernetes and the names of clusters for
// subresources (resources/apps, resources/member1), which no rule can list
// beforehand; so the one wildcard there is stands in a group that holds nothing
// else, for reading, below the three names that are paths of the index.
// +kubebuilder:rbac:groups=clusterpedia.io,resources=collectionresources,resourceNames=any,verbs=get
// +kubebuilder:rbac:groups=clusterpedia.io,resources=*,resourceNames=api;apis;clusters,verbs=get
//
// Three more depend on the installation, and stand in the chart: the Secrets with the
// credentials of instances (get, watch), the Lease of the index's collector (list,
// watch), and which extra attributes of people are passed on (impersonate).
