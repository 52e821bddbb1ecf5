package instancestatus

import (
	"fmt"
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

// words are status and reason of Reachable, APIServerHealthy, ControlPlaneHealthy, Ready and
// Identified, which is true by default.
func words(some ...string) []metav1.Condition {
	var all []metav1.Condition
	if len(some) < len(ours) {
		some = append(some, "True/Identified")
	}
	for i, word := range some {
		var status, reason string
		for at := range word {
			if word[at] == '/' {
				status, reason = word[:at], word[at+1:]
			}
		}
		all = append(all, metav1.Condition{Type: ours[i], Status: metav1.ConditionStatus(status), Reason: reason})
	}
	return all
}

func TestDecide(t *testing.T) {
	external := v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal, KarmadaVersion: "v1.18.2", KubeconfigSecretRef: &v1alpha1.SecretKeyReference{}}
	well := words("True/Answering", "True/Healthy", "True/Serving", "True/Available")
	held := &v1alpha1.InstanceControlPlane{KubeSystemID: "cp", Claim: v1alpha1.ClaimHeld, CredentialsFingerprint: "by"}
	known := v1alpha1.InstanceStatus{
		ControlPlane: held, State: v1alpha1.InstanceStateRunning, KarmadaVersion: "v1.17.0", KubernetesVersion: "v1.34.0", APIEndpoint: "https://old",
		Conditions: append([]metav1.Condition{v1alpha1.Indexed("not ours")}, well...),
		Summary:    &v1alpha1.InstanceSummary{},
	}
	down := known
	down.Conditions = words("False/NotAnswering", "Unknown/Unreachable", "Unknown/Unreachable", "False/Unreachable")
	seen := func(o probe.Observation, karmada *facts) found {
		o.Endpoint = "https://new"
		f := found{Finding: probe.Finding{Seen: &o}, Karmada: karmada}
		if karmada != nil {
			f.Asked = asked{id: "cp", fingerprint: "by"}
		}
		return f
	}
	gone := seen(probe.Observation{Err: fmt.Errorf("down")}, nil)
	for _, c := range []struct {
		reason string
		status v1alpha1.InstanceStatus
		found  found
		// looks is how often it is looked, with two seconds in between.
		looks      int
		conditions []metav1.Condition
		want       v1alpha1.InstanceStatus
		pending    bool
	}{
		{
			reason: "at the first look all is well", found: seen(probe.Observation{Version: "v1.35.4"}, &facts{}),
			conditions: well,
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning, KubernetesVersion: "v1.35.4", APIEndpoint: "https://new"},
		},
		{
			reason: "what others own is not in it", status: known, found: seen(probe.Observation{Version: "v1.35.4"}, &facts{}),
			conditions: well,
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning, KubernetesVersion: "v1.35.4", APIEndpoint: "https://new"},
		},
		{
			reason: "a glance says nothing of versions and of Karmada", status: known, found: seen(probe.Observation{}, nil),
			conditions: well,
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning, KubernetesVersion: "v1.34.0", APIEndpoint: "https://new"},
		},
		{
			reason: "one look in vain changes nothing", status: known, found: gone, conditions: well, pending: true,
			want: v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning, KubernetesVersion: "v1.34.0", APIEndpoint: "https://new"},
		},
		{
			reason: "an instance that stays down keeps its last version", status: known, found: gone, looks: 4,
			conditions: down.Conditions,
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateUnavailable, KubernetesVersion: "v1.34.0", APIEndpoint: "https://new"},
		},
		{
			reason: "it is back at once when it was back for a while", status: down, found: seen(probe.Observation{Version: "v1.35.4"}, &facts{}), looks: 3,
			conditions: well,
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning, KubernetesVersion: "v1.35.4", APIEndpoint: "https://new"},
		},
		{
			reason: "one that never answered is unavailable at once", found: gone,
			conditions: words("False/NotAnswering", "Unknown/Unreachable", "Unknown/Unreachable", "False/Unreachable", "Unknown/Pending"),
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateUnavailable, APIEndpoint: "https://new"},
		},
		{
			reason: "an apiserver without Karmada is not available as an instance",
			found:  seen(probe.Observation{Version: "v1.35.4"}, &facts{policies: &probe.HTTPError{Status: 404}}),
			want:   v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateUnavailable, KubernetesVersion: "v1.35.4", APIEndpoint: "https://new"},

			conditions: words("True/Answering", "True/Healthy", "False/KarmadaMissing", "False/KarmadaMissing"),
		},
		{
			reason: "an apiserver that is not ready is asked no further", found: seen(probe.Observation{Version: "v1.35.4", Health: &probe.HTTPError{Status: 500}}, nil),
			conditions: words("True/Answering", "False/Unhealthy", "Unknown/Pending", "False/Unhealthy", "Unknown/Pending"),
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateUnavailable, KubernetesVersion: "v1.35.4", APIEndpoint: "https://new"},
		},
		{
			reason: "without credentials nothing is known, and the past is kept", status: known,
			found:      found{Finding: probe.Finding{Credentials: connection.ErrMissing}},
			conditions: words("Unknown/CredentialsMissing", "Unknown/CredentialsMissing", "Unknown/CredentialsMissing", "Unknown/CredentialsMissing"),
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateUnknown, KubernetesVersion: "v1.34.0", APIEndpoint: "https://old"},
		},
		{
			reason: "an instance that is being deleted says so", status: known, found: found{Finding: probe.Finding{Deleting: true}},
			conditions: words("Unknown/Deleting", "Unknown/Deleting", "Unknown/Deleting", "False/Deleting"),
			want:       v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateTerminating, KubernetesVersion: "v1.34.0", APIEndpoint: "https://old"},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			instance := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Generation: 3}, Spec: external, Status: c.status}
			c.want.ObservedGeneration, c.want.KarmadaVersion, c.want.Conditions = 3, "v1.18.2", c.conditions
			now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
			judge := &debounce.Debouncer{Limits: debounce.Default, Now: func() time.Time { return now }}
			var got v1alpha1.InstanceStatus
			var pending bool
			for range max(1, c.looks) {
				now = now.Add(2 * time.Second)
				c.found.Began = now
				var v decision
				v, pending = decide(instance, c.found, judge)
				now := v.next.ControlPlane
				if now != nil { // No other Instance has it.
					now = held
				}
				if got = v.conclude(instance, now); now != nil {
					c.want.ControlPlane = held
				}
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "Message", "LastTransitionTime", "ObservedGeneration")); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, own(got)); diff != "" {
				t.Errorf("it would be written again and again, because own does not have all of it (-decided +own):\n%s", diff)
			}
			if pending != c.pending {
				t.Errorf("pending is %v, want %v", pending, c.pending)
			}
		})
	}
}

func TestState(t *testing.T) {
	installed, installing, pending := v1alpha1.Installed(""), v1alpha1.NotInstalled(v1alpha1.ReasonInstalling, ""), v1alpha1.InstalledUnknown(v1alpha1.ReasonPending, "")
	ready, notReady := v1alpha1.Ready(""), v1alpha1.NotReady(v1alpha1.ReasonUnreachable, "")
	noCredentials := v1alpha1.ReadyUnknown(v1alpha1.ReasonCredentialsMissing, "")
	not := func(reason string) metav1.Condition { return v1alpha1.NotInstalled(reason, "") }
	const external, managed = v1alpha1.InstanceModeExternal, v1alpha1.InstanceModeManaged
	for _, c := range []struct {
		reason string
		mode   v1alpha1.InstanceMode
		// served reports whether it has been installed once, so that it has credentials.
		served     bool
		deleting   bool
		conditions []metav1.Condition
		want       v1alpha1.InstanceState
	}{
		{"it was not checked yet", external, false, false, nil, v1alpha1.InstanceStateUnknown},
		{"it cannot be read", external, false, false, []metav1.Condition{noCredentials}, v1alpha1.InstanceStateUnknown},
		{"all is well", external, false, false, []metav1.Condition{ready}, v1alpha1.InstanceStateRunning},
		{"all is well, and it is collected badly", external, false, false, []metav1.Condition{v1alpha1.NotIndexed(v1alpha1.ReasonCollectionFailed, ""), ready}, v1alpha1.InstanceStateRunning},
		{"something is not well", external, false, false, []metav1.Condition{notReady}, v1alpha1.InstanceStateUnavailable},
		{"it is being deleted, whatever else", external, false, true, []metav1.Condition{ready}, v1alpha1.InstanceStateTerminating},
		{"an External instance is not installed by us", external, false, false, []metav1.Condition{installing, ready}, v1alpha1.InstanceStateRunning},
		{"its installation has not begun", managed, false, false, []metav1.Condition{noCredentials}, v1alpha1.InstanceStateInProcess},
		{"it is being installed", managed, false, false, []metav1.Condition{installing, noCredentials}, v1alpha1.InstanceStateInProcess},
		{"it answers, and is still being installed", managed, false, false, []metav1.Condition{installing, ready}, v1alpha1.InstanceStateInProcess},
		{"it is installed and works", managed, true, false, []metav1.Condition{installed, ready}, v1alpha1.InstanceStateRunning},
		{"it is installed and does not work", managed, true, false, []metav1.Condition{installed, notReady}, v1alpha1.InstanceStateUnavailable},
		{"it is installed and its credentials are lost", managed, true, false, []metav1.Condition{installed, noCredentials}, v1alpha1.InstanceStateUnknown},
		{"it is being changed", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonUpdating), ready}, v1alpha1.InstanceStateInProcess},
		{"a change failed, and it works as before", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonUpdateFailed), ready}, v1alpha1.InstanceStateRunning},
		{"a change failed, and it does not work", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonUpdateFailed), notReady}, v1alpha1.InstanceStateUnavailable},
		{"a change was refused, and it works as before", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonRejectedByOperator), ready}, v1alpha1.InstanceStateRunning},
		{"nothing was ever installed of what was refused", managed, false, false, []metav1.Condition{not(v1alpha1.ReasonRejectedByOperator), noCredentials}, v1alpha1.InstanceStateUnknown},
		{"the operator tries a failed installation again", managed, false, false, []metav1.Condition{not(v1alpha1.ReasonInstallationFailed), noCredentials}, v1alpha1.InstanceStateInProcess},
		{"the operator has not begun with what it serves from", managed, true, false, []metav1.Condition{pending, ready}, v1alpha1.InstanceStateInProcess},
		{"the operator has not begun", managed, false, false, []metav1.Condition{pending, noCredentials}, v1alpha1.InstanceStateInProcess},
		{"it cannot be installed yet", managed, false, false, []metav1.Condition{not(v1alpha1.ReasonOperatorMissing), noCredentials}, v1alpha1.InstanceStateInProcess},
		{"it works, and cannot be changed", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonOperatorMissing), ready}, v1alpha1.InstanceStateRunning},
		{"it works, and another object has its name", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonNameTaken), ready}, v1alpha1.InstanceStateRunning},
		{"a user uninstalls it, and it works still", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonUninstalling), ready}, v1alpha1.InstanceStateRunning},
		{"a user uninstalled it", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonUninstalling), notReady}, v1alpha1.InstanceStateUnavailable},
		{"it is deleted, and its host as well", managed, true, false, []metav1.Condition{not(v1alpha1.ReasonHostClusterMissing), notReady}, v1alpha1.InstanceStateUnavailable},
		{"it is being removed", managed, true, true, []metav1.Condition{installing, notReady}, v1alpha1.InstanceStateTerminating},
	} {
		if got := stateOf(c.mode, c.served, c.deleting, c.conditions); got != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
		}
	}
}

func TestKarmadaVersion(t *testing.T) {
	at := func(generation int64, c metav1.Condition) []metav1.Condition {
		c.ObservedGeneration = generation
		return []metav1.Condition{c}
	}
	for _, c := range []struct {
		reason     string
		mode       v1alpha1.InstanceMode
		conditions []metav1.Condition
		want       string
	}{
		{"an External one is believed what was declared", v1alpha1.InstanceModeExternal, nil, "v2.0.0"},
		{"a Managed one that is not installed has none yet but what was", v1alpha1.InstanceModeManaged, nil, "v1.0.0"},
		{"while it is updated the old one counts", v1alpha1.InstanceModeManaged, at(3, v1alpha1.NotInstalled(v1alpha1.ReasonUpdating, "")), "v1.0.0"},
		{"what was installed for an older spec says nothing about this one", v1alpha1.InstanceModeManaged, at(2, v1alpha1.Installed("")), "v1.0.0"},
		{"once it is installed the new one counts", v1alpha1.InstanceModeManaged, at(3, v1alpha1.Installed("")), "v2.0.0"},
	} {
		instance := &v1alpha1.Instance{
			ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: v1alpha1.InstanceSpec{Mode: c.mode, KarmadaVersion: "v2.0.0"},
			Status: v1alpha1.InstanceStatus{KarmadaVersion: "v1.0.0", Conditions: c.conditions},
		}
		if got := karmadaVersion(instance); got != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
		}
	}
}
