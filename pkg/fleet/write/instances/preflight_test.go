package instances

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestChecks(t *testing.T) {
	condition := func(kind string, is bool) metav1.Condition {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Message: kind + " is said"}
		if is {
			c.Status = metav1.ConditionTrue
		}
		return c
	}
	at := func(version string, installed, ready bool) *v1alpha1.Instance {
		i := &v1alpha1.Instance{}
		i.Name, i.Spec.Mode, i.Spec.KarmadaVersion = "alpha", v1alpha1.InstanceModeManaged, version
		i.Spec.Components = &v1alpha1.InstanceComponents{Etcd: &v1alpha1.EtcdSettings{Storage: &v1alpha1.EtcdStorage{Size: "1Gi"}}}
		i.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionInstalled, installed), condition(v1alpha1.ConditionReady, ready)}
		return i
	}
	cluster := func(instance string, ready bool) v1alpha1.Cluster {
		c := v1alpha1.Cluster{}
		c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
		c.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionJoined, true), condition(v1alpha1.ConditionReady, ready)}
		return c
	}
	withoutVolume := at("v1.17.0", true, true)
	withoutVolume.Spec.Components.Etcd.Storage = nil
	for _, tt := range []struct {
		reason   string
		instance *v1alpha1.Instance
		to       string
		clusters []v1alpha1.Cluster
		failed   string
	}{
		{"one minor later", at("v1.17.3", true, true), "v1.18.2", []v1alpha1.Cluster{cluster("alpha", true), cluster("beta", false)}, ""},
		{"a patch later", at("v1.18.0", true, true), "v1.18.2", nil, ""},
		{"two minors later", at("v1.16.0", true, true), "v1.18.2", nil, "ONE_MINOR_VERSION"},
		{"another major", at("v1.16.0", true, true), "v2.0.0", nil, "ONE_MINOR_VERSION"},
		{"back", at("v1.18.2", true, true), "v1.18.1", nil, "NO_DOWNGRADE"},
		{"no version", at("", true, true), "v1.18.1", nil, "VERSION_KNOWN"},
		{"not installed", at("v1.17.0", false, false), "v1.18.1", nil, "INSTALLED INSTANCE_READY"},
		{"nothing is known of it", &v1alpha1.Instance{Spec: v1alpha1.InstanceSpec{KarmadaVersion: "v1.17.0"}}, "v1.18.1", nil, "DATA_KEPT INSTALLED INSTANCE_READY"},
		{"etcd has no volume", withoutVolume, "v1.18.1", nil, "DATA_KEPT"},
		{"a cluster is not ready", at("v1.17.0", true, true), "v1.18.1", []v1alpha1.Cluster{cluster("alpha", false), cluster("alpha", true)}, "CLUSTERS_READY"},
	} {
		var failed []string
		for _, c := range checks(tt.instance, tt.to, tt.clusters) {
			if c.Message == "" {
				t.Errorf("%s: %s has no message", tt.reason, c.Name)
			}
			if !c.Passed {
				failed = append(failed, string(c.Name))
			}
		}
		if got := strings.Join(failed, " "); got != tt.failed {
			t.Errorf("%s: %q failed, want %q", tt.reason, got, tt.failed)
		}
	}
}
