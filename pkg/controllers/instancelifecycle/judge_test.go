package instancelifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestJudge: what the operator says becomes what the Instance says, and no more.
func TestJudge(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ready := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: "Ready", Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)}
	}
	published := &operatorv1alpha1.LocalSecretReference{Namespace: "k-alpha", Name: "alpha-karmada-admin-config"}
	failedBefore := &metav1.Condition{
		Type: "Installed", Status: "False", Reason: "InstallationFailed", ObservedGeneration: 3,
		Message: "The operator failed, and will try again: no route. So far there is none of its components on cluster \"m1\".",
	}
	for _, c := range []struct {
		reason   string
		ready    *metav1.Condition
		ref      *operatorv1alpha1.LocalSecretReference
		stale    bool
		before   *metav1.Condition
		serving  bool
		want     string
		says     []string
		atWork   bool
		keepsRef bool
	}{
		{reason: "an operator that has not looked yet may not run", want: "Unknown/Pending", says: []string{"has not begun with Karmada k-alpha/alpha", "whether it runs"}},
		{
			reason: "at work is all that the operator says", ready: ready("False", "Progressing", "karmada init job is in progressing"),
			want: "False/Installing", says: []string{"karmada init job is in progressing"}, atWork: true,
		},
		{
			reason: "a failure is told in the operator's words", ready: ready("False", "Failed", "failed to install etcd\ncomponent"),
			want: "False/InstallationFailed", says: []string{"try again: failed to install etcd component."}, atWork: true,
		},
		{
			reason: "while it tries again the failure stays, without what was found then", ready: ready("False", "Progressing", "again"), before: failedBefore,
			want: "False/InstallationFailed", says: []string{"try again: no route."}, atWork: true,
		},
		{
			reason: "another spec is another attempt", ready: ready("False", "Progressing", "again"),
			before: &metav1.Condition{Type: "Installed", Status: "False", Reason: "InstallationFailed", ObservedGeneration: 2, Message: "old"},
			want:   "False/Installing", says: []string{"again"}, atWork: true,
		},
		{
			reason: "the operator's validation is final until the spec changes", ready: ready("False", "ValidationError", "the service type must be NodePort"),
			want: "False/RejectedByOperator", says: []string{"does not accept", "must be NodePort"},
		},
		{
			reason: "ready without a kubeconfig is of no use", ready: ready("True", "Completed", "done"),
			want: "False/Installing", says: []string{"not where its kubeconfig is"},
		},
		{
			reason: "ready with its kubeconfig is installed", ready: ready("True", "Completed", "done"), ref: published,
			want: "True/Installed", says: []string{`on cluster "m1"`}, keepsRef: true,
		},
		{
			reason: "a judgement from before the change says nothing about it", ready: ready("True", "Completed", "done"), ref: published,
			stale: true, serving: true, want: "False/Updating", says: []string{"has not taken up the last change"}, keepsRef: true,
		},
		{
			reason: "a judgement from after the change does", ready: ready("True", "Completed", "done"), ref: published,
			serving: true, want: "True/Installed", keepsRef: true,
		},
		{
			reason: "what is changed and no better is rejected in the same words, at the same time", ready: ready("False", "ValidationError", "the service type must be NodePort"),
			stale: true, want: "False/RejectedByOperator",
		},
		{
			reason: "what was installed once is updated", ready: ready("False", "Progressing", "in progressing"), ref: published, serving: true,
			want: "False/Updating", atWork: true, keepsRef: true,
		},
		{
			reason: "and its update may fail", ready: ready("False", "Failed", "no"), serving: true,
			want: "False/UpdateFailed", says: []string{"try again: no."}, atWork: true,
		},
		{reason: "a reason that is not known is told as it is", ready: ready("Unknown", "Dreaming", "of electric sheep"), want: "False/Installing", says: []string{"electric sheep"}, atWork: true},
		{reason: "a long story is cut", ready: ready("False", "Failed", strings.Repeat("word ", 1000)), want: "False/InstallationFailed", says: []string{"word…"}, atWork: true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			karmada := &operatorv1alpha1.Karmada{ObjectMeta: metav1.ObjectMeta{Namespace: "k-alpha", Name: "alpha"}}
			karmada.Status.SecretRef = c.ref
			if c.ready != nil {
				karmada.Status.Conditions = []metav1.Condition{*c.ready}
			}
			karmada.Annotations = map[string]string{judgedAnnotation: "2026-01-02T03:04:05Z/Completed/00000000"}
			if c.stale {
				karmada.Annotations[judgedAnnotation] = judged(karmada)
			}
			instance := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", Generation: 3}, Spec: v1alpha1.InstanceSpec{HostCluster: "m1"}}
			if c.serving {
				instance.Status.KubeconfigSecretRef = &v1alpha1.SecretKeyReference{}
			}
			got := judge(karmada, c.before, instance)
			if word := string(got.Condition.Status) + "/" + got.Condition.Reason; word != c.want || got.Condition.Type != "Installed" {
				t.Errorf("got %s %s, want Installed %s: %s", got.Condition.Type, word, c.want, got.Condition.Message)
			}
			for _, part := range c.says {
				if !strings.Contains(got.Condition.Message, part) {
					t.Errorf("the message does not say %q: %s", part, got.Condition.Message)
				}
			}
			if strings.Contains(got.Condition.Message, "So far") {
				t.Errorf("what was found before is told as if it were found now: %s", got.Condition.Message)
			}
			if got.AtWork != c.atWork {
				t.Errorf("AtWork is %t", got.AtWork)
			}
			if c.keepsRef {
				want := &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "k-alpha", Name: "alpha-karmada-admin-config"}, Key: "karmada.config"}
				if diff := cmp.Diff(want, got.KubeconfigSecretRef); diff != "" {
					t.Errorf("where the kubeconfig is (-want +got):\n%s", diff)
				}
			} else if got.KubeconfigSecretRef != nil {
				t.Errorf("a kubeconfig that is not there: %+v", got.KubeconfigSecretRef)
			}
		})
	}
}

func TestSoFar(t *testing.T) {
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "alpha-karmada-etcd"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}, Status: appsv1.StatefulSetStatus{ReadyReplicas: 1}}
	deployment := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "alpha-karmada-apiserver"}, Status: appsv1.DeploymentStatus{ReadyReplicas: 0}}
	for _, c := range []struct {
		reason      string
		sets        []appsv1.StatefulSet
		deployments []appsv1.Deployment
		want        string
	}{
		{"nothing is said to be nothing", nil, nil, `So far there is none of its components on cluster "m1".`},
		{
			"each component, in order, without the prefix that all have; one replica is the default", []appsv1.StatefulSet{set}, []appsv1.Deployment{deployment},
			`So far on cluster "m1", with replicas ready: apiserver 0/1, etcd 1/3.`,
		},
	} {
		if got := soFar("m1", "alpha", c.sets, c.deployments); got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestJoined(t *testing.T) {
	cluster := func(name string, change func(*v1alpha1.Cluster)) v1alpha1.Cluster {
		c := v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{Type: v1alpha1.ClusterTypePhysical}}
		change(&c)
		return c
	}
	to := func(instance string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance} }
	}
	all := []v1alpha1.Cluster{
		cluster("m2", to("alpha")),
		cluster("m1", to("alpha")),
		cluster("m3", to("beta")),
		cluster("free", func(*v1alpha1.Cluster) {}),
		cluster("leaving", func(c *v1alpha1.Cluster) {
			c.Status.Membership = &v1alpha1.ClusterMembership{Instance: "alpha"}
		}),
		cluster("k-alpha", func(c *v1alpha1.Cluster) {
			to("alpha")(c)
			c.Spec.Type = v1alpha1.ClusterTypeVirtual
		}),
	}
	if diff := cmp.Diff([]string{"leaving", "m1", "m2"}, joinedClusters(all, "alpha")); diff != "" {
		t.Errorf("what is joined to alpha (-want +got):\n%s", diff)
	}
}

// TestCovers: the operator's defaults beside what was asked for are no change.
func TestCovers(t *testing.T) {
	there := map[string]any{"a": map[string]any{"asked": int64(1), "default": "x"}, "list": []any{"p", "q"}}
	for _, c := range []struct {
		reason string
		wanted any
		want   bool
	}{
		{"what was asked for is there, with more beside it", map[string]any{"a": map[string]any{"asked": int64(1)}}, true},
		{"another value is a change", map[string]any{"a": map[string]any{"asked": int64(2)}}, false},
		{"a missing field is a change", map[string]any{"b": "y"}, false},
		{"a missing object is a change", map[string]any{"b": map[string]any{"y": "z"}}, false},
		{"lists are compared as a whole", map[string]any{"list": []any{"p"}}, false},
	} {
		if got := covers(there, c.wanted); got != c.want {
			t.Errorf("%s: got %t", c.reason, got)
		}
	}
}

// TestJudgeNamesAnEtcdWithoutVolume: such an instance is installed, and its data in danger.
func TestJudgeNamesAnEtcdWithoutVolume(t *testing.T) {
	karmada := &operatorv1alpha1.Karmada{}
	karmada.Status.SecretRef = &operatorv1alpha1.LocalSecretReference{Namespace: "k-alpha", Name: "alpha-karmada-admin-config"}
	karmada.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Completed"}}
	for _, c := range []struct {
		reason     string
		components *v1alpha1.InstanceComponents
		named      bool
	}{
		{"without settings", nil, true},
		{"without settings of etcd", &v1alpha1.InstanceComponents{}, true},
		{"without storage", &v1alpha1.InstanceComponents{Etcd: &v1alpha1.EtcdSettings{}}, true},
		{"with storage", &v1alpha1.InstanceComponents{Etcd: &v1alpha1.EtcdSettings{Storage: &v1alpha1.EtcdStorage{Size: "1Gi"}}}, false},
	} {
		got := judge(karmada, nil, &v1alpha1.Instance{Spec: v1alpha1.InstanceSpec{Components: c.components}}).Condition
		if named := strings.Contains(got.Message, "no volume"); named != c.named || got.Status != metav1.ConditionTrue {
			t.Errorf("%s: %s %s", c.reason, got.Status, got.Message)
		}
	}
}
