package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

func TestUnmetAffinity(t *testing.T) {
	member := func(name, region string, labels map[string]string, zones ...string) Member {
		return MemberOf(&clusterv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       clusterv1alpha1.ClusterSpec{Provider: "own", Region: region, Zones: zones},
		})
	}
	members := map[string]Member{
		"m1": member("m1", "eu", map[string]string{"disk": "hdd", "tier": "gold"}, "eu-1", "eu-2"),
		"m2": member("m2", "us", map[string]string{"disk": "ssd", "tier": "silver"}),
	}
	equal := func(kv ...string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for i := 0; i < len(kv); i += 2 {
			s.MatchLabels[kv[i]] = kv[i+1]
		}
		return s
	}
	expr := func(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	field := func(key string, op corev1.NodeSelectorOperator, values ...string) *policyv1alpha1.FieldSelector {
		return &policyv1alpha1.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	for _, tt := range []struct {
		reason   string
		affinity policyv1alpha1.ClusterAffinity
		want     string
	}{
		{"a label that no cluster has is named", policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "nvme")}, "no member cluster has the label disk=nvme"},
		{"only the label that no cluster has is named", policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "nvme", "tier", "gold")}, "no member cluster has the label disk=nvme"},
		{"all labels that no cluster has are named", policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "nvme", "gpu", "yes")}, "no member cluster has the label disk=nvme, and no member cluster has the label gpu=yes"},
		{"a cluster meets it", policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "ssd")}, ""},
		{"each term is met, but never all", policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "ssd", "tier", "gold")}, "no member cluster meets all terms of the cluster affinity: label disk=ssd, label tier=gold"},
		{"one of several values", policyv1alpha1.ClusterAffinity{LabelSelector: expr("tier", metav1.LabelSelectorOpIn, "iron", "lead")}, "no member cluster has the label tier in (iron,lead)"},
		{"any value", policyv1alpha1.ClusterAffinity{LabelSelector: expr("gpu", metav1.LabelSelectorOpExists)}, "no member cluster has the label gpu"},
		{"a label that every cluster has", policyv1alpha1.ClusterAffinity{LabelSelector: expr("tier", metav1.LabelSelectorOpDoesNotExist)}, "every member cluster has the label tier"},
		{"values that every cluster has", policyv1alpha1.ClusterAffinity{LabelSelector: expr("tier", metav1.LabelSelectorOpNotIn, "gold", "silver")}, "every member cluster has the label tier with one of the excluded values gold, silver"},
		{"not a selector", policyv1alpha1.ClusterAffinity{LabelSelector: expr("tier", "Like", "g")}, "the label selector of the cluster affinity is not valid"},
		{"a region that no cluster is in", policyv1alpha1.ClusterAffinity{FieldSelector: field("region", corev1.NodeSelectorOpIn, "ap")}, "no member cluster has the field region in (ap)"},
		{"a region that a cluster is in", policyv1alpha1.ClusterAffinity{FieldSelector: field("region", corev1.NodeSelectorOpIn, "us")}, ""},
		{"a cluster may have several zones", policyv1alpha1.ClusterAffinity{FieldSelector: field("zone", corev1.NodeSelectorOpIn, "eu-2", "ap-1")}, ""},
		{"a zone that no cluster has", policyv1alpha1.ClusterAffinity{FieldSelector: field("zone", corev1.NodeSelectorOpIn, "ap-1")}, "no member cluster has the field zone in (ap-1)"},
		{"no zone is in no excluded zone", policyv1alpha1.ClusterAffinity{FieldSelector: field("zone", corev1.NodeSelectorOpNotIn, "eu-1")}, ""},
		{"an operator that Kubernetes does not know", policyv1alpha1.ClusterAffinity{FieldSelector: field("region", "Like", "e")}, "no member cluster has the field region Like e"},
		{"names that the instance does not have", policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m8", "m9"}}, "the instance has no member cluster m8 or m9"},
		{"all are excluded", policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"m1", "m2"}}, "the policy excludes every member cluster: m1, m2"},
		{"named and excluded", policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}, ExcludeClusters: []string{"m1"}}, "no member cluster meets all terms of the cluster affinity: a name out of m1, not excluded as m1"},
		{"nothing is asked for", policyv1alpha1.ClusterAffinity{}, ""},
	} {
		if got := unmetAffinity(&policyv1alpha1.Placement{ClusterAffinity: &tt.affinity}, members); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
		}
	}

	nvme, ssd := policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "nvme")}, policyv1alpha1.ClusterAffinity{LabelSelector: equal("disk", "ssd")}
	gone := policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m9"}}
	for _, tt := range []struct {
		reason    string
		placement *policyv1alpha1.Placement
		members   map[string]Member
		want      string
	}{
		{"each group is named", &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
			{AffinityName: "first", ClusterAffinity: nvme}, {AffinityName: "then", ClusterAffinity: gone},
		}}, members, `affinity "first": no member cluster has the label disk=nvme; affinity "then": the instance has no member cluster m9`},
		{"one group fits, and something else is in the way", &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
			{AffinityName: "first", ClusterAffinity: nvme}, {AffinityName: "then", ClusterAffinity: ssd},
		}}, members, ""},
		{"a group overflows to one that fits", &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
			{AffinityName: "first", ClusterAffinity: nvme, OverflowAffinities: []policyv1alpha1.OverflowClusterAffinity{{ClusterAffinity: ssd}}},
		}}, members, ""},
		{"no placement", nil, members, ""},
		{"the members are not known", &policyv1alpha1.Placement{ClusterAffinity: &nvme}, nil, ""},
		{"a member is not known", &policyv1alpha1.Placement{ClusterAffinity: &nvme}, map[string]Member{"m1": {}}, ""},
	} {
		if got := unmetAffinity(tt.placement, tt.members); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
		}
	}
}
