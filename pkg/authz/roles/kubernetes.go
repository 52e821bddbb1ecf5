package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The rules of Kubernetes' own roles view, edit and admin. They are not aggregated
// from these: Karmada adds rules to view and edit, with the labels of Kubernetes' own,
// and a user who writes Works or ResourceBindings writes any object of a member. A test
// compares them with those of an API server.

// kubernetesViewer are the rules of view.
var kubernetesViewer = rules(read,
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
	rules(read, kinds{"", []string{"pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"}}),
	rules([]string{"impersonate"}, kinds{"", []string{"serviceaccounts"}}),
	rules([]string{"create"}, kinds{"", []string{"pods/eviction", "serviceaccounts/token"}}),
	rules(write,
		kinds{"", []string{
			"configmaps", "events", "persistentvolumeclaims", "pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy",
			"replicationcontrollers", "replicationcontrollers/scale", "secrets", "serviceaccounts", "services", "services/proxy",
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
	rules(slices.Concat(read, write), kinds{"coordination.k8s.io", []string{"leases"}}),
)

// kubernetesAdmin are the rules that admin has beside those of edit.
var kubernetesAdmin = slices.Concat(
	rules([]string{"create"}, kinds{"authorization.k8s.io", []string{"localsubjectaccessreviews"}}),
	rules(slices.Concat(read, write), kinds{rbacv1.GroupName, []string{"roles", "rolebindings"}}),
)
