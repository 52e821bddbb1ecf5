package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The rules of Kubernetes' own roles view, edit and admin. They are not aggregated
// from these: Karmada adds rules to view and edit, with the labels of Kubernetes' own,
// and a user who writes Works or ResourceBindings writes any object of a member. A test
// compares them with those of an API server.

// What follows in the members from the rules below.
const (
	selected = "None, unless a policy selects them: then Karmada creates, changes and deletes them in the members, in the namespace of that name. " +
		"What runs there has what the member gives its ServiceAccount."
	inInstance = "None: the instance runs no pods, and the members' are reached through clusters/proxy."
	asAccount  = "What the ServiceAccount may do in the instance, which an admin decides."
)

// kubernetesViewer are the rules of view.
var kubernetesViewer = rules("No access. They show the state that Karmada collects from the members.", read,
	kinds{"", []string{
		"bindings", "configmaps", "endpoints", "events", "limitranges", "namespaces", "namespaces/status",
		"persistentvolumeclaims", "persistentvolumeclaims/status", "pods", "pods/log", "pods/status",
		"replicationcontrollers", "replicationcontrollers/scale", "replicationcontrollers/status",
		"resourcequotas", "resourcequotas/status", "serviceaccounts", "services", "services/status",
	}},
	kinds{"apps", []string{
		"controllerrevisions", "daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status",
		"replicasets", "replicasets/scale", "replicasets/status", "statefulsets", "statefulsets/scale", "statefulsets/status",
	}},
	kinds{"autoscaling", []string{"horizontalpodautoscalers", "horizontalpodautoscalers/status"}},
	kinds{"batch", []string{"cronjobs", "cronjobs/status", "jobs", "jobs/status"}},
	kinds{"discovery.k8s.io", []string{"endpointslices"}},
	kinds{"events.k8s.io", []string{"events"}},
	kinds{"extensions", []string{
		"daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status", "ingresses", "ingresses/status",
		"networkpolicies", "replicasets", "replicasets/scale", "replicasets/status", "replicationcontrollers/scale",
	}},
	kinds{"networking.k8s.io", []string{"ingresses", "ingresses/status", "networkpolicies"}},
	kinds{"policy", []string{"poddisruptionbudgets", "poddisruptionbudgets/status"}},
	kinds{"resource.k8s.io", []string{"resourceclaims", "resourceclaims/status", "resourceclaimtemplates"}},
)

// kubernetesEditor are the rules that edit has beside those of view.
var kubernetesEditor = slices.Concat(
	rules("The values of Secrets that are sent to members.", read, kinds{"", []string{"secrets"}}),
	rules(inInstance, read, kinds{"", []string{"pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy"}}),
	rules(asAccount, []string{"impersonate"}, kinds{"", []string{"serviceaccounts"}}),
	rules(asAccount, []string{"create"}, kinds{"", []string{"serviceaccounts/token"}}),
	rules(inInstance, []string{"create"}, kinds{"", []string{"pods/eviction"}}),
	rules(inInstance, write, kinds{"", []string{"pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy"}}),
	rules(selected, write,
		kinds{"", []string{
			"configmaps", "events", "persistentvolumeclaims", "pods", "replicationcontrollers", "replicationcontrollers/scale",
			"secrets", "serviceaccounts", "services",
		}},
		kinds{"apps", []string{
			"daemonsets", "deployments", "deployments/rollback", "deployments/scale", "replicasets", "replicasets/scale",
			"statefulsets", "statefulsets/scale",
		}},
		kinds{"autoscaling", []string{"horizontalpodautoscalers"}},
		kinds{"batch", []string{"cronjobs", "jobs"}},
		kinds{"events.k8s.io", []string{"events"}},
		kinds{"extensions", []string{
			"daemonsets", "deployments", "deployments/rollback", "deployments/scale", "ingresses", "networkpolicies",
			"replicasets", "replicasets/scale", "replicationcontrollers/scale",
		}},
		kinds{"networking.k8s.io", []string{"ingresses", "networkpolicies"}},
		kinds{"policy", []string{"poddisruptionbudgets"}},
		kinds{"resource.k8s.io", []string{"resourceclaims", "resourceclaimtemplates"}},
	),
	rules(selected, slices.Concat(read, write), kinds{"coordination.k8s.io", []string{"leases"}}),
)

// kubernetesAdmin are the rules that admin has beside those of edit.
var kubernetesAdmin = slices.Concat(
	rules("None.", []string{"create"}, kinds{"authorization.k8s.io", []string{"localsubjectaccessreviews"}}),
	rules("None, unless a policy selects them: then the same access in the namespace of that name in the members, which is at most what the writer has in the instance.",
		slices.Concat(read, write), kinds{rbacv1.GroupName, []string{"roles", "rolebindings"}}),
)
