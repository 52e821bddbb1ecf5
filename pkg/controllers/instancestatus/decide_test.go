package instancestatus

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

func TestDecide(t *testing.T) {
	external := v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal, KarmadaVersion: "v1.18.2", KubeconfigSecretRef: &v1alpha1.SecretKeyReference{}}
	managed := v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged}
	installed := v1alpha1.InstanceStatus{KubeconfigSecretRef: &v1alpha1.SecretKeyReference{}}
	known := v1alpha1.InstanceStatus{
		State: v1alpha1.InstanceStateRunning, KarmadaVersion: "v1.17.0", KubernetesVersion: "v1.34.0", APIEndpoint: "https://old",
		Conditions: []metav1.Condition{v1alpha1.Indexed("not ours"), v1alpha1.Ready("old")},
		Summary:    &v1alpha1.InstanceSummary{},
	}
	seen := func(o probe.Observation) probe.Finding {
		o.Endpoint = "https://new"
		return probe.Finding{Seen: &o}
	}
	for _, c := range []struct {
		reason string
		spec   v1alpha1.InstanceSpec
		status v1alpha1.InstanceStatus
		found  probe.Finding
		want   v1alpha1.InstanceStatus
	}{
		{
			reason: "all is well, and what others own is not in it", spec: external, status: known,
			found: seen(probe.Observation{Version: "v1.35.4"}),
			want: v1alpha1.InstanceStatus{
				State: v1alpha1.InstanceStateRunning, KarmadaVersion: "v1.18.2", KubernetesVersion: "v1.35.4", APIEndpoint: "https://new",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "True", Reason: "Answering"}, {Type: "Ready", Status: "True", Reason: "Available"}},
			},
		},
		{
			reason: "an instance that is down keeps its last version", spec: external, status: known,
			found: seen(probe.Observation{Err: fmt.Errorf("down")}),
			want: v1alpha1.InstanceStatus{
				State: v1alpha1.InstanceStateUnavailable, KarmadaVersion: "v1.18.2", KubernetesVersion: "v1.34.0", APIEndpoint: "https://new",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "False", Reason: "NotAnswering"}, {Type: "Ready", Status: "False", Reason: "Unreachable"}},
			},
		},
		{
			reason: "an apiserver without Karmada is not available as an instance", spec: external,
			found: seen(probe.Observation{Version: "v1.35.4", Karmada: &probe.HTTPError{Status: 404}}),
			want: v1alpha1.InstanceStatus{
				State: v1alpha1.InstanceStateUnavailable, KarmadaVersion: "v1.18.2", KubernetesVersion: "v1.35.4", APIEndpoint: "https://new",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "True", Reason: "Answering"}, {Type: "Ready", Status: "False", Reason: "KarmadaMissing"}},
			},
		},
		{
			reason: "without credentials nothing is known, and the past is kept", spec: external, status: known,
			found: probe.Finding{Credentials: connection.ErrMissing},
			want: v1alpha1.InstanceStatus{
				State: v1alpha1.InstanceStateUnknown, KarmadaVersion: "v1.18.2", KubernetesVersion: "v1.34.0", APIEndpoint: "https://old",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "Unknown", Reason: "CredentialsMissing"}, {Type: "Ready", Status: "Unknown", Reason: "CredentialsMissing"}},
			},
		},
		{
			reason: "a managed instance has none before it is installed", spec: managed,
			found: probe.Finding{Credentials: connection.ErrMissing},
			want: v1alpha1.InstanceStatus{
				State:      v1alpha1.InstanceStateInProcess,
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "Unknown", Reason: "CredentialsMissing"}, {Type: "Ready", Status: "Unknown", Reason: "CredentialsMissing"}},
			},
		},
		{
			reason: "a managed instance whose credentials are lost is not being installed", spec: managed, status: installed,
			found: probe.Finding{Credentials: connection.ErrMissing},
			want: v1alpha1.InstanceStatus{
				State:      v1alpha1.InstanceStateUnknown,
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "Unknown", Reason: "CredentialsMissing"}, {Type: "Ready", Status: "Unknown", Reason: "CredentialsMissing"}},
			},
		},
		{
			reason: "an instance that is being deleted says so", spec: external, status: known,
			found: probe.Finding{Deleting: true},
			want: v1alpha1.InstanceStatus{
				State: v1alpha1.InstanceStateTerminating, KarmadaVersion: "v1.18.2", KubernetesVersion: "v1.34.0", APIEndpoint: "https://old",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "Unknown", Reason: "Deleting"}, {Type: "Ready", Status: "False", Reason: "Deleting"}},
			},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			instance := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Generation: 3}, Spec: c.spec, Status: c.status}
			c.want.ObservedGeneration = 3
			for i := range c.want.Conditions {
				c.want.Conditions[i].ObservedGeneration = 3
			}
			got := decide(instance, c.found)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "Message", "LastTransitionTime")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}
