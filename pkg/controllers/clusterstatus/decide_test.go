package clusterstatus

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

func TestDecide(t *testing.T) {
	end := metav1.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	known := v1alpha1.ClusterStatus{
		KubernetesVersion: "v1.34.0", KubeSystemID: "old", CredentialsFingerprint: "former", CredentialsExpireTime: &end,
		Conditions: []metav1.Condition{v1alpha1.Indexed("not ours"), v1alpha1.Identified("as before")},
		Summary:    &v1alpha1.ClusterSummary{},
	}
	for _, c := range []struct {
		reason string
		found  probe.Finding
		look   asked
		want   v1alpha1.ClusterStatus
	}{
		{
			reason: "all is well, and what others own is not in it",
			found:  probe.Finding{Seen: &probe.Observation{Version: "v1.35.4"}},
			look:   asked{id: "old", fingerprint: "now"},
			want: v1alpha1.ClusterStatus{
				KubernetesVersion: "v1.35.4", KubeSystemID: "old", CredentialsFingerprint: "now",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "True", Reason: "Answering"}, {Type: "Ready", Status: "True", Reason: "Available"}, {Type: "Identified", Status: "True", Reason: "Identified"}},
			},
		},
		{
			reason: "another cluster is not ready, whatever it says",
			found:  probe.Finding{Seen: &probe.Observation{Version: "v1.35.4"}},
			look:   asked{id: "another", fingerprint: "now"},
			want: v1alpha1.ClusterStatus{
				KubernetesVersion: "v1.35.4", KubeSystemID: "old", CredentialsFingerprint: "former",
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "True", Reason: "Answering"}, {Type: "Identified", Status: "False", Reason: "OtherCluster"}, {Type: "Ready", Status: "False", Reason: "OtherCluster"}},
			},
		},
		{
			reason: "the end of the credentials is kept to the second, which is what the API stores",
			found:  probe.Finding{Seen: &probe.Observation{Version: "v1.35.4"}, Expires: end.Add(123 * time.Millisecond)},
			want: v1alpha1.ClusterStatus{
				KubernetesVersion: "v1.35.4", KubeSystemID: "old", CredentialsFingerprint: "former", CredentialsExpireTime: &end,
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "True", Reason: "Answering"}, {Type: "Ready", Status: "True", Reason: "Available"}, {Type: "Identified", Status: "True", Reason: "Identified"}},
			},
		},
		{
			reason: "a cluster that is down keeps what was known",
			found:  probe.Finding{Seen: &probe.Observation{Err: errors.New("down")}, Expires: end.Time},
			want: v1alpha1.ClusterStatus{
				KubernetesVersion: "v1.34.0", KubeSystemID: "old", CredentialsFingerprint: "former", CredentialsExpireTime: &end,
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "False", Reason: "NotAnswering"}, {Type: "Ready", Status: "False", Reason: "Unreachable"}, {Type: "Identified", Status: "True", Reason: "Identified"}},
			},
		},
		{
			reason: "credentials that cannot be used are told",
			found:  probe.Finding{Credentials: connection.ErrInvalid},
			want: v1alpha1.ClusterStatus{
				KubernetesVersion: "v1.34.0", KubeSystemID: "old", CredentialsFingerprint: "former", CredentialsExpireTime: &end,
				Conditions: []metav1.Condition{{Type: "Reachable", Status: "Unknown", Reason: "CredentialsInvalid"}, {Type: "Ready", Status: "Unknown", Reason: "CredentialsInvalid"}, {Type: "Identified", Status: "True", Reason: "Identified"}},
			},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", Generation: 3}, Status: known}
			c.want.ObservedGeneration = 3
			for i := range c.want.Conditions {
				c.want.Conditions[i].ObservedGeneration = 3
			}
			got, _ := decide(cluster, c.found, c.look, time.Time{}, &debounce.Debouncer{Limits: debounce.Default})
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "Message", "LastTransitionTime")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, own(got), cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type })); diff != "" {
				t.Errorf("it would be written again and again, because own does not have all of it (-decided +own):\n%s", diff)
			}
		})
	}
}

func TestAVirtualClusterRepeatsItsInstance(t *testing.T) {
	end := metav1.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, c := range []struct {
		reason     string
		conditions []metav1.Condition
		want       string // Reachable Ready
	}{
		{"it was not checked yet", nil, "Unknown/Pending, Unknown/Pending"},
		{"all is well", []metav1.Condition{v1alpha1.Reachable(""), v1alpha1.APIServerHealthy("")}, "True/Answering, True/Available"},
		{"it is reached and not ready", []metav1.Condition{v1alpha1.Reachable(""), v1alpha1.APIServerUnhealthy("Unhealthy", "")}, "True/Answering, False/Unhealthy"},
		{"it is not reached", []metav1.Condition{v1alpha1.Unreachable("Refused", ""), v1alpha1.APIServerUnknown("Unreachable", "")}, "False/Refused, False/Unreachable"},
		{"it cannot be read", []metav1.Condition{v1alpha1.ReachableUnknown("CredentialsMissing", ""), v1alpha1.APIServerUnknown("CredentialsMissing", "")}, "Unknown/CredentialsMissing, Unknown/CredentialsMissing"},
		{"the instance is being deleted", []metav1.Condition{v1alpha1.ReachableUnknown("Deleting", ""), v1alpha1.APIServerUnknown("Deleting", "")}, "Unknown/Deleting, False/Deleting"},
		{"a Karmada that does not work is ready as an apiserver", []metav1.Condition{v1alpha1.Reachable(""), v1alpha1.APIServerHealthy(""), v1alpha1.ControlPlaneUnhealthy("ComponentDown", "")}, "True/Answering, True/Available"},
	} {
		instance := &v1alpha1.Instance{Status: v1alpha1.InstanceStatus{KubernetesVersion: "v1.35.4", Conditions: c.conditions}}
		cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: v1alpha1.ClusterStatus{KubeSystemID: "old"}}
		got := repeat(cluster, instance, "", end.Time)
		var words []string
		for _, condition := range got.Conditions {
			words = append(words, string(condition.Status)+"/"+condition.Reason)
		}
		if word := strings.Join(words, ", "); word != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, word, c.want)
		}
		got.Conditions = nil
		if diff := cmp.Diff(v1alpha1.ClusterStatus{ObservedGeneration: 2, KubernetesVersion: "v1.35.4", KubeSystemID: "old", CredentialsExpireTime: &end}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
