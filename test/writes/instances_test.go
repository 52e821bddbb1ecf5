package writes

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

type instancePayload struct {
	Deleted  bool
	Instance *struct {
		Name, Alias, Mode, State, ResourceVersion, KarmadaVersion, DeletionPolicy string
		Labels                                                                    []struct{ Key, Value string }
		HostCluster                                                               *struct{ Name string }
		Components                                                                map[string]any
		Collect                                                                   *collectedKinds
	}
}

// collectedKinds are the kinds that are collected of one instance.
type collectedKinds struct {
	OfInstance, OfMembers []struct{ Group, Version, Resource string }
}

const instanceFields = `instance { name alias mode state resourceVersion karmadaVersion deletionPolicy labels { key value } hostCluster { name }
	components { etcd { replicas storage { size storageClassName } } apiServer { replicas serviceType certSANs } scheduler { replicas } failover { enabled clusterMonitorPeriod }
		descheduler { enabled replicas interval } featureGates { name enabled } imageRegistry }
	collect { ofInstance { group version resource } ofMembers { group version resource } } }`

func newName() string { return fmt.Sprintf("writes-%d-%d", os.Getpid(), numbers.Add(1)) }

// goes removes an Instance at the end, however far a test came.
func goes(t *testing.T, name string) {
	t.Helper()
	global := fleet.Open(t).Client(t, "global")
	t.Cleanup(func() {
		i := &kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}
		patch := []byte(`{"metadata":{"annotations":{"` + kairshipv1alpha1.ForceDeleteAnnotation + `":"true"}}}`)
		_ = global.Patch(context.Background(), i, client.RawPatch(types.MergePatchType, patch))
		_ = global.Delete(context.Background(), i)
	})
}

func kubeconfigOf(t *testing.T, cluster string) string {
	t.Helper()
	text, err := os.ReadFile(fleet.Open(t).Cluster(t, cluster).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func conditionOf(i *kairshipv1alpha1.Instance, typ string) string {
	c := apimeta.FindStatusCondition(i.Status.Conditions, typ)
	if c == nil {
		return "none"
	}
	return string(c.Status) + "/" + c.Reason
}

// TestRegisterInstance registers an alias of beta, changes it, and lets it go.
func TestRegisterInstance(t *testing.T) {
	admin, name := person(t, "admin"), newName()
	alias := fleet.Open(t).Alias(t, "beta")
	in := map[string]any{
		"instance": name, "kubeconfig": string(alias.Kubeconfig(t, name)), "alias": "Another beta", "karmadaVersion": "v1.18.2",
		"labels": []any{map[string]any{"key": "env", "value": "test"}},
	}
	secret := "k-" + name + "-kubeconfig"
	nothing := func(when string) {
		t.Helper()
		if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); ok {
			t.Errorf("%s wrote the Instance", when)
		}
		if _, ok := storedIn(t, "global", kairshipv1alpha1.SystemNamespace, secret, &corev1.Secret{}); ok {
			t.Errorf("%s wrote the credentials", when)
		}
	}
	goes(t, name)

	refused(t, admin, "registerInstance", but(in, "kubeconfig", "users: [{"), "INVALID", "input.kubeconfig")
	refused(t, admin, "registerInstance", but(in, "karmadaVersion", "new"), "INVALID", "input.karmadaVersion")
	refused(t, admin, "registerInstance", but(in, "instance", "k_"+name), "INVALID", "input.instance")
	evil := strings.ReplaceAll(kubeconfigOf(t, "beta"), "users:", "# users") + `
users:
- name: evil
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: ["very-secret-argument"]}}`
	if e := refused(t, admin, "registerInstance", but(in, "kubeconfig", evil), "INVALID", "input.kubeconfig"); strings.Contains(e.Message, "very-secret") {
		t.Errorf("the error quotes the kubeconfig: %s", e.Message)
	}
	tryOut := must[instancePayload](t, admin, "registerInstance", but(in, "dryRun", true), instanceFields)
	if tryOut.Instance == nil || tryOut.Instance.Alias != "Another beta" {
		t.Errorf("the dry run answers %+v", tryOut.Instance)
	}
	for _, who := range []string{"alice", "bob", "mallory"} {
		if e := refused(t, person(t, who), "registerInstance", in, "FORBIDDEN", "input.instance"); strings.Contains(e.Message, "exist") {
			t.Errorf("%s learns more than they may: %s", who, e.Message)
		}
	}
	nothing("what was refused or tried")

	made := must[instancePayload](t, admin, "registerInstance", in, instanceFields)
	if i := made.Instance; i == nil || i.Mode != "EXTERNAL" || i.KarmadaVersion != "" || len(i.Labels) != 1 || i.DeletionPolicy != "RETAIN" {
		t.Errorf("registered: %+v", made.Instance)
	}
	follows(t, "registerInstance", "it is Ready", func(context.Context) error {
		i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		if got := conditionOf(i, kairshipv1alpha1.ConditionReady); !strings.HasPrefix(got, "True/") {
			return fmt.Errorf("Ready is %s", got)
		}
		return nil
	})
	refused(t, admin, "registerInstance", in, "ALREADY_EXISTS", "input.instance")
	updates(t, admin, name, secret)

	in = map[string]any{"instance": name}
	refused(t, admin, "deleteInstance", but(in, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
	refused(t, admin, "deleteInstance", but(in, "deletionPolicy", "DELETE"), "INVALID", "input.deletionPolicy")
	if must[instancePayload](t, admin, "deleteInstance", but(in, "dryRun", true), "deleted").Deleted {
		t.Error("a dry run deleted it")
	}
	if i, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); !ok || i.DeletionTimestamp != nil {
		t.Error("a dry run deleted it")
	}
	if gone := must[instancePayload](t, admin, "deleteInstance", in, "deleted "+instanceFields); !gone.Deleted && gone.Instance.State != "TERMINATING" {
		t.Errorf("deleting answers %+v", gone.Instance)
	}
	follows(t, "deleteInstance", "the Instance and its credentials are gone", func(context.Context) error {
		_, instance := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		_, credentials := storedIn(t, "global", kairshipv1alpha1.SystemNamespace, secret, &corev1.Secret{})
		if instance || credentials {
			return fmt.Errorf("instance is there: %t, credentials: %t", instance, credentials)
		}
		return nil
	})
}

// updates changes a registered instance.
func updates(t *testing.T, admin *gql.Client, name, secret string) {
	t.Helper()
	now := func() string {
		i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		return i.ResourceVersion
	}
	// Its conditions may still move; an update reads again.
	update := func(in map[string]any) (made instancePayload) {
		t.Helper()
		poll.Until(t, within, "it is updated", func(context.Context) error {
			payload, errs := mutate[instancePayload](t, admin, "updateInstance", but(in, "instance", name, "resourceVersion", now()), instanceFields)
			if made = payload; len(errs) > 0 {
				return fmt.Errorf("%v", errs)
			}
			return nil
		})
		return made
	}
	in := map[string]any{"instance": name, "resourceVersion": "1", "alias": "Beta again"}
	refused(t, admin, "updateInstance", in, "CONFLICT", "input.resourceVersion")
	before, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
	again := fleet.Open(t).Alias(t, "beta")
	update(map[string]any{"alias": "Beta again", "dryRun": true, "kubeconfig": string(again.Kubeconfig(t, name))})
	after, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
	if after.Spec.Alias != "Another beta" || after.Generation != before.Generation {
		t.Errorf("a dry run changed it: %+v", after.Spec)
	}
	changed := update(map[string]any{
		"alias": "Beta again", "karmadaVersion": "v1.18.3", "labels": []any{map[string]any{"key": "env", "value": "stage"}},
	}).Instance
	if changed == nil || changed.Alias != "Beta again" || len(changed.Labels) != 1 || changed.Labels[0].Value != "stage" {
		t.Errorf("updated: %+v", changed)
	}
	kind := func(group, version, resource string) map[string]any {
		return map[string]any{"group": group, "version": version, "resource": resource}
	}
	collects := update(map[string]any{"collect": map[string]any{
		"ofInstance": []any{kind("argoproj.io", "v1alpha1", "rollouts")}, "ofMembers": []any{map[string]any{"version": "v1", "resource": "endpoints"}},
	}}).Instance.Collect
	if collects == nil || fmt.Sprint(*collects) != "{[{argoproj.io v1alpha1 rollouts}] [{ v1 endpoints}]}" {
		t.Errorf("it collects %+v", collects)
	}
	if kept := update(map[string]any{"alias": "Beta again"}).Instance.Collect; kept == nil {
		t.Error("what it collects was lost with another change")
	}
	for argument, wrong := range map[string]map[string]any{
		"input.collect.ofMembers[0].resource":  {"ofMembers": []any{kind("", "v1", "secrets")}},
		"input.collect.ofInstance[0].resource": {"ofInstance": []any{kind("apps", "v1", "Deployment")}},
		"input.collect.ofInstance[0].group":    {"ofInstance": []any{kind("*", "v1", "deployments")}},
		"input.collect.ofInstance[0].version":  {"ofInstance": []any{kind("apps", "*", "deployments")}},
	} {
		poll.Until(t, within, argument+" is refused", func(context.Context) error {
			_, errs := mutate[instancePayload](t, admin, "updateInstance", map[string]any{"instance": name, "resourceVersion": now(), "collect": wrong}, "consistencyToken")
			if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || errs[0].Extensions.Argument != argument {
				return fmt.Errorf("got %+v", errs)
			}
			return nil
		})
	}
	if none := update(map[string]any{"collect": map[string]any{}}).Instance.Collect; none != nil {
		t.Errorf("it still collects %+v", none)
	}
	poll.Until(t, within, "a policy that no External instance has is refused", func(context.Context) error {
		_, errs := mutate[instancePayload](t, admin, "updateInstance", map[string]any{"instance": name, "resourceVersion": now(), "deletionPolicy": "DELETE"}, "consistencyToken")
		if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || errs[0].Extensions.Argument != "input.deletionPolicy" {
			return fmt.Errorf("got %v", errs)
		}
		return nil
	})

	for _, dryRun := range []bool{true, false} {
		poll.Until(t, within, "another control plane is refused", func(context.Context) error {
			_, errs := mutate[instancePayload](t, admin, "updateInstance", map[string]any{
				"instance": name, "resourceVersion": now(), "kubeconfig": kubeconfigOf(t, "alpha"), "dryRun": dryRun,
			}, "consistencyToken")
			if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || errs[0].Extensions.Argument != "input.kubeconfig" {
				return fmt.Errorf("got %v", errs)
			}
			return nil
		})
	}
	update(map[string]any{"kubeconfig": string(again.Kubeconfig(t, name))})
	endpoint := "https://" + again.Host + "/" + name
	follows(t, "updateInstance", "the control plane is reached at its other address", func(context.Context) error {
		if i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); i.Status.APIEndpoint != endpoint {
			return fmt.Errorf("reached is %s, want %s", i.Status.APIEndpoint, endpoint)
		}
		return nil
	})
	if s, ok := storedIn(t, "global", kairshipv1alpha1.SystemNamespace, secret, &corev1.Secret{}); !ok || len(s.OwnerReferences) != 1 {
		t.Errorf("the credentials belong to %+v", s.OwnerReferences)
	}
}

// TestInstancesOfOthers: who may see an instance may still not change it, and
// credentials that another controller keeps are left to them.
func TestInstancesOfOthers(t *testing.T) {
	global, name := fleet.Open(t).Client(t, "global"), newName()
	alias := fleet.Open(t).Alias(t, "beta")
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: kairshipv1alpha1.SystemNamespace, Name: name},
		Data:       map[string][]byte{kairshipv1alpha1.KubeconfigSecretKey: alias.Kubeconfig(t, name)},
	}
	instance := &kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kairshipv1alpha1.InstanceSpec{
		Mode: kairshipv1alpha1.InstanceModeExternal, KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
			SecretReference: kairshipv1alpha1.SecretReference{Namespace: foreign.Namespace, Name: name},
		},
	}}
	goes(t, name)
	t.Cleanup(func() { _ = global.Delete(context.Background(), foreign) })
	for _, o := range []client.Object{foreign, instance} {
		if err := global.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	admin := person(t, "admin")
	poll.Until(t, within, "it is given other credentials", func(context.Context) error {
		now, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		_, errs := mutate[instancePayload](t, admin, "updateInstance", map[string]any{
			"instance": name, "resourceVersion": now.ResourceVersion, "kubeconfig": string(alias.Kubeconfig(t, name)),
		}, "consistencyToken")
		if len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		return nil
	})
	now, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
	if ref := now.Spec.KubeconfigSecretRef; ref == nil || ref.Name != "k-"+name+"-kubeconfig" {
		t.Errorf("its credentials are in %+v", ref)
	}
	kept, ok := storedIn(t, "global", foreign.Namespace, name, &corev1.Secret{})
	if !ok || kept.ResourceVersion != foreign.ResourceVersion {
		t.Error("the Secret of another owner was changed")
	}

	alice := person(t, "alice")
	refused(t, alice, "updateInstance", map[string]any{"instance": "alpha", "resourceVersion": "1", "alias": "mine"}, "FORBIDDEN", "")
	refused(t, alice, "deleteInstance", map[string]any{"instance": "alpha"}, "FORBIDDEN", "")
	refused(t, alice, "deleteInstance", map[string]any{"instance": "beta"}, "NOT_FOUND", "input.instance")
	// Clusters are joined to beta.
	e := refused(t, admin, "deleteInstance", map[string]any{"instance": "beta"}, "CONFLICT", "input.force")
	if !strings.Contains(e.Message, "m3") {
		t.Errorf("the error does not say who keeps it: %s", e.Message)
	}
	must[instancePayload](t, admin, "deleteInstance", map[string]any{"instance": "beta", "force": true, "deletionPolicy": "RETAIN", "dryRun": true}, "deleted")
	if beta, ok := storedIn(t, "global", "", "beta", &kairshipv1alpha1.Instance{}); !ok || beta.DeletionTimestamp != nil || beta.Annotations[kairshipv1alpha1.ForceDeleteAnnotation] != "" {
		t.Error("a dry run let beta go")
	}
}

// TestCreateInstance asks for an instance to be installed. How far the operator
// gets is another test's; here it is what it is asked for.
func TestCreateInstance(t *testing.T) {
	admin, name := person(t, "admin"), newName()
	goes(t, name)
	flag := func(name, value string) []any { return []any{map[string]any{"name": name, "value": value}} }
	pods := map[string]any{"requests": map[string]any{"cpu": "200m", "memory": "256Mi"}, "limits": map[string]any{"cpu": "1", "memory": "1Gi"}}
	tuned := map[string]any{"replicas": 2, "extraArgs": flag("kube-api-qps", "80"), "resources": pods}
	in := map[string]any{
		"instance": name, "hostCluster": "m3", "karmadaVersion": "v1.18.2", "alias": "New", "deletionPolicy": "DELETE",
		"labels": []any{map[string]any{"key": "env", "value": "test"}},
		"components": map[string]any{
			"etcd":                map[string]any{"replicas": 3, "resources": pods, "storage": map[string]any{"size": "10Gi", "storageClassName": "fast"}},
			"apiServer":           map[string]any{"replicas": 2, "extraArgs": flag("max-requests-inflight", "3000"), "resources": pods, "serviceType": "LOAD_BALANCER", "certSANs": []any{"karmada.example.com"}},
			"aggregatedAPIServer": tuned, "kubeControllerManager": tuned, "controllerManager": tuned, "scheduler": tuned, "webhook": tuned,
			"failover": map[string]any{
				"enabled": true, "clusterStatusUpdateFrequency": "15s", "clusterMonitorPeriod": "6s", "clusterMonitorGracePeriod": "50s", "clusterStartupGracePeriod": "70s",
				"clusterFailureThreshold": "40s", "clusterSuccessThreshold": "20s", "gracefulEvictionTimeout": "5m",
			},
			"descheduler":    map[string]any{"enabled": true, "replicas": 2, "extraArgs": flag("v", "4"), "resources": pods, "interval": "3m", "unschedulableThreshold": "4m"},
			"metricsAdapter": map[string]any{"enabled": true, "replicas": 1, "extraArgs": flag("v", "4"), "resources": pods},
			"featureGates":   []any{map[string]any{"name": "PropagateDeps", "enabled": true}},
			"imageRegistry":  "registry.example.com/mirror", "crdTarballURL": "https://files.example.com/crds.tar.gz",
		},
	}
	components := func(field string, value any) map[string]any {
		return but(in, "components", but(in["components"].(map[string]any), field, value))
	}
	refused(t, admin, "createInstance", but(in, "hostCluster", "none"), "NOT_FOUND", "input.hostCluster")
	refused(t, admin, "createInstance", but(in, "hostCluster", "k-beta"), "INVALID", "input.hostCluster")
	refused(t, admin, "createInstance", components("scheduler", map[string]any{"replicas": 11}), "INVALID", "input.components.scheduler.replicas")
	refused(t, admin, "createInstance", components("failover", map[string]any{"clusterMonitorPeriod": "soon"}), "INVALID", "input.components.failover.clusterMonitorPeriod")
	refused(t, admin, "createInstance", components("etcd", map[string]any{"replicas": 2}), "INVALID", "input.components.etcd.replicas")
	refused(t, admin, "createInstance", components("scheduler", map[string]any{"extraArgs": flag("kubeconfig", "/tmp/x")}), "INVALID", "input.components.scheduler.extraArgs")
	refused(t, admin, "createInstance", components("controllerManager", map[string]any{"extraArgs": flag("cluster-monitor-period", "5s")}), "INVALID", "input.components.controllerManager.extraArgs")
	refused(t, admin, "createInstance", components("webhook", map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": "much"}}}), "INVALID", "input.components.webhook.resources.requests.cpu")
	unlisted := refused(t, admin, "createInstance", but(in, "karmadaVersion", "v1.18.1"), "INVALID", "input.karmadaVersion")
	if !strings.Contains(unlisted.Message, "v1.18.2, v1.19.0, v1.20.0") {
		t.Errorf("the error does not name the versions: %s", unlisted.Message)
	}
	for _, who := range []string{"alice", "bob", "mallory"} {
		refused(t, person(t, who), "createInstance", in, "FORBIDDEN", "input.instance")
	}
	mayCreate(t, "alice", name)
	refused(t, person(t, "alice"), "createInstance", but(in, "hostCluster", "m1"), "FORBIDDEN", "input.hostCluster")
	must[instancePayload](t, admin, "createInstance", but(in, "dryRun", true), "consistencyToken")
	for _, serviceType := range []string{"CLUSTER_IP", "NODE_PORT"} {
		tried := must[instancePayload](t, admin, "createInstance", but(components("apiServer", map[string]any{"serviceType": serviceType}), "deletionPolicy", "RETAIN", "dryRun", true), instanceFields)
		if got := fmt.Sprint(tried.Instance.Components["apiServer"]); got != "map[certSANs:[] replicas:<nil> serviceType:"+serviceType+"]" || tried.Instance.DeletionPolicy != "RETAIN" {
			t.Errorf("%s became %s", serviceType, got)
		}
	}
	if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); ok {
		t.Fatal("what was refused or tried was written")
	}

	made := must[instancePayload](t, admin, "createInstance", in, instanceFields).Instance
	if made == nil || made.Mode != "MANAGED" || made.DeletionPolicy != "DELETE" || made.HostCluster == nil || made.HostCluster.Name != "m3" {
		t.Fatalf("created: %+v", made)
	}
	if got := fmt.Sprint(made.Components["failover"], made.Components["featureGates"]); got != "map[clusterMonitorPeriod:6s enabled:true] [map[enabled:true name:PropagateDeps]]" {
		t.Errorf("its components are %s", got)
	}
	follows(t, "createInstance", "its life cycle is looked after", func(context.Context) error {
		i, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		if installed := apimeta.FindStatusCondition(i.Status.Conditions, kairshipv1alpha1.ConditionInstalled); installed == nil ||
			installed.Reason != kairshipv1alpha1.ReasonSourceNotPermitted || !strings.Contains(installed.Message, "--allowed-image-registries") {
			return fmt.Errorf("a registry that is not permitted is not refused: %+v", i.Status.Conditions)
		}
		return nil
	})
	if _, asked := storedIn(t, "global", kairshipv1alpha1.VirtualClusterName(name), name, &operatorv1alpha1.Karmada{}); asked {
		t.Error("the operator was asked to run images of a registry that is not permitted")
	}
	adminMayNotInstall(t, name, in)
	refused(t, admin, "createInstance", in, "ALREADY_EXISTS", "input.instance")

	poll.Until(t, within, "what can't be changed is refused", func(context.Context) error {
		now, _ := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{})
		change := map[string]any{"instance": name, "resourceVersion": now.ResourceVersion}
		_, errs := mutate[instancePayload](t, admin, "updateInstance", but(change, "components", map[string]any{"etcd": map[string]any{"replicas": 5}}), "consistencyToken")
		if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || !strings.HasPrefix(errs[0].Extensions.Argument, "input.components") {
			return fmt.Errorf("got %v", errs)
		}
		_, errs = mutate[instancePayload](t, admin, "updateInstance", but(change, "kubeconfig", kubeconfigOf(t, "beta")), "consistencyToken")
		if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" || errs[0].Extensions.Argument != "input.kubeconfig" {
			return fmt.Errorf("got %v", errs)
		}
		_, errs = mutate[instancePayload](t, admin, "updateInstance", but(change, "deletionPolicy", "RETAIN", "components", in["components"]), "consistencyToken")
		if len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		return nil
	})
	checkedUpgrade(t, admin, name)
	must[instancePayload](t, admin, "deleteInstance", map[string]any{"instance": name, "deletionPolicy": "DELETE", "force": true}, "deleted")
	poll.Until(t, within, "it is deleted", func(context.Context) error {
		if _, ok := storedIn(t, "global", "", name, &kairshipv1alpha1.Instance{}); ok {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
}

// adminMayNotInstall has an admin of a Managed instance, who may not install on its
// host cluster, try to run other images there.
func adminMayNotInstall(t *testing.T, instance string, in map[string]any) {
	t.Helper()
	global := fleet.Open(t).Client(t, "global")
	binding := &kairshipv1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: newName()},
		Spec: kairshipv1alpha1.InstanceRoleBindingSpec{
			InstanceRef: kairshipv1alpha1.InstanceReference{Name: instance},
			Subject:     kairshipv1alpha1.BindingSubject{Kind: "User", Name: "bob"}, Role: kairshipv1alpha1.RoleAdmin,
		},
	}
	if err := global.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = global.Delete(context.Background(), binding) }()
	bob := person(t, "bob")
	change := func() map[string]any {
		now, _ := storedIn(t, "global", "", instance, &kairshipv1alpha1.Instance{})
		return map[string]any{"instance": instance, "resourceVersion": now.ResourceVersion, "dryRun": true}
	}
	poll.Until(t, within, "the instance's admin changes its alias", func(context.Context) error {
		if _, errs := mutate[instancePayload](t, bob, "updateInstance", but(change(), "alias", "Renamed"), "consistencyToken"); len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		return nil
	})
	components := but(in["components"].(map[string]any), "imageRegistry", "registry.example.com/theirs")
	for argument, value := range map[string]any{"components": components, "karmadaVersion": "v1.18.1"} {
		poll.Until(t, within, "the instance's admin may not change what runs on its host", func(context.Context) error {
			_, errs := mutate[instancePayload](t, bob, "updateInstance", but(change(), argument, value), "consistencyToken")
			if len(errs) != 1 || errs[0].Extensions.Code != "FORBIDDEN" || errs[0].Extensions.Argument != "input."+argument {
				return fmt.Errorf("%s: got %v", argument, errs)
			}
			return nil
		})
	}
}

// mayCreate gives a person the right to add an instance of that name, for the test.
func mayCreate(t *testing.T, name, instance string) {
	t.Helper()
	global := fleet.Open(t).Client(t, "global")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: newName()}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"kairship.io"}, Resources: []string{"instances"}, Verbs: []string{"get"}, ResourceNames: []string{instance}},
		{APIGroups: []string{"kairship.io"}, Resources: []string{"instances/management"}, Verbs: []string{"create"}, ResourceNames: []string{instance}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := global.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = global.Delete(context.Background(), o) })
	}
	poll.Until(t, within, name+" may add instances", func(context.Context) error {
		_, errs := mutate[instancePayload](t, person(t, name), "registerInstance", map[string]any{"instance": instance, "kubeconfig": "{}", "dryRun": true}, "consistencyToken")
		if len(errs) != 1 || errs[0].Extensions.Code != "INVALID" {
			return fmt.Errorf("got %v", errs)
		}
		return nil
	})
}
