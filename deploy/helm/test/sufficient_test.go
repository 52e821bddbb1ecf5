package test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	gmclient "github.com/kairship-io/kairship/pkg/globalmanagement/client"
)

// TestRolesSuffice runs both programs as the chart's ServiceAccounts, with its roles
// and nothing else, and has them do what they do: register, join, install, give roles,
// answer, write, clean up. The API server's audit log must not have one refusal.
func TestRolesSuffice(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs")
	}
	connect(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, pediav1alpha2.AddToScheme, operatorv1alpha1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	kube, err := client.New(apitest.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, kube: kube, instance: kubeconfig(t, apitest.OtherConfig(t), "")}
	w.installRoles()
	w.startControllerManager()
	w.startAPIServer()

	w.controllersWork()
	w.apiWorks()
	w.everythingGoes()

	w.auditTells()
	used := record(t)
	for _, account := range []string{"kairship-apiserver", "kairship-controller-manager"} {
		t.Logf("%s made %d requests", account, used.Requests[account])
		for request, said := range used.Refused {
			if strings.HasPrefix(request, account+" ") {
				t.Errorf("%s was refused: %s", request, said)
			}
		}
	}
	// Not every path of the programs is taken here; that each right is used is seen where
	// there is a whole fleet (test/privilege).
	t.Logf("not used here: %s", strings.Join(used.Idle(), ", "))
}

// auditTells checks that a refusal would be found: one that is sure to come is.
func (w *world) auditTells() {
	w.Helper()
	config := rest.AnonymousClientConfig(apitest.Config(w.T))
	config.BearerToken = token(w.T, w.kube, namespace, "kairship-idle")
	idle, err := client.New(config, client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	if err := idle.List(w.Context(), &corev1.NodeList{}); !apierrors.IsForbidden(err) {
		w.Errorf("a user without roles lists nodes: %v", err)
	}
	w.indexCredentialsAreClosed()
	eventually(w.T, "the audit log has a refusal", func() error {
		for request := range record(w.T).Refused {
			if strings.HasPrefix(request, "kairship-idle list /api/v1/nodes") {
				return nil
			}
		}
		return errors.New("it does not")
	})
	used := record(w.T).Used
	for _, right := range []string{
		"kairship-apiserver: create tokenreviews.authentication.k8s.io",
		"kairship-apiserver: create subjectaccessreviews.authorization.k8s.io",
		"kairship-apiserver: get collectionresources.clusterpedia.io any",
		"kairship-apiserver: impersonate serviceaccounts",
		"kairship-apiserver-collector-lease: watch leases.coordination.k8s.io clusterpedia-clustersynchro-manager in clusterpedia-system",
		"kairship-apiserver-instance-secrets: watch secrets in kairship-system",
		"kairship-apiserver: patch clusters.kairship.io",
		"kairship-controller-manager: patch karmadas.operator.karmada.io",
		"kairship-controller-manager: create pediaclusters.cluster.clusterpedia.io",
		"kairship-controller-manager-index-credentials: create secrets in clusterpedia-system",
		"kairship-controller-manager: create clusterroles.rbac.authorization.k8s.io",
		"kairship-controller-manager-instance-secrets: watch secrets in kairship-system",
	} {
		if used[right] == 0 {
			w.Errorf("this was not seen, so the test proves less than it says: %s", right)
		}
	}
}

// indexCredentialsAreClosed reviews that kairship-apiserver, which serves people, can not
// read the Secrets with which the index collects.
func (w *world) indexCredentialsAreClosed() {
	w.Helper()
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + namespace + ":kairship-apiserver",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: "clusterpedia-system", Verb: verb, Resource: "secrets", Name: "kairship-k-alpha",
			},
		}}
		if err := w.kube.Create(w.Context(), review); err != nil {
			w.Fatal(err)
		}
		if review.Status.Allowed {
			w.Errorf("kairship-apiserver may %s the Secrets with which the index collects: %s", verb, review.Status.Reason)
		}
	}
}

// world is the API server with Kairship in it.
type world struct {
	*testing.T

	kube client.Client
	// instance is a kubeconfig of a second API server.
	instance []byte
	// webhook is where events of global management go.
	webhook *gmclient.Client
	// boss is a person who may do everything.
	boss caller
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.kube.Create(w.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			w.Fatalf("create %s: %v", o.GetName(), err)
		}
	}
}

// there waits until an object exists and, where that matters, is as it should be.
func (w *world) there(o client.Object, is ...func() bool) {
	w.Helper()
	eventually(w.T, fmt.Sprintf("%T %s", o, o.GetName()), func() error {
		if err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		for _, check := range is {
			if !check() {
				said, _ := json.Marshal(o)
				return fmt.Errorf("it is not yet as it should be: %s", said)
			}
		}
		return nil
	})
}

func (w *world) gone(o client.Object) {
	w.Helper()
	eventually(w.T, fmt.Sprintf("%T %s goes", o, o.GetName()), func() error {
		err := w.kube.Get(w.Context(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		said, _ := json.Marshal(o)
		return errors.Join(err, fmt.Errorf("it is still there: %s", said))
	})
}

// installRoles makes the chart's ServiceAccounts, roles and admission policies.
func (w *world) installRoles() {
	w.Helper()
	made := 0
	for _, o := range objects(w.T, render(w.T, matrix(w.T)["default"])) {
		switch group := o.GroupVersionKind().Group; {
		case o.GetKind() == "ServiceAccount", group == rbacv1.GroupName, group == admissionv1.GroupName:
			w.create(o)
			made++
		}
	}
	if made < 14 {
		w.Fatalf("only %d accounts, roles, admission policies and bindings are rendered", made)
	}
}

func (w *world) file(name string, content []byte) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *world) startControllerManager() {
	w.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		w.Fatal(err)
	}
	secret := []byte("0123456789abcdef0123456789abcdef")
	w.create(secretOf("kairship-global-management", "primary", secret))
	health, webhook := freeAddress(w.T), freeAddress(w.T)
	start(w.T, static(w.T, "controller-manager"),
		"--kubeconfig="+w.file("kubeconfig", kubeconfig(w.T, apitest.Config(w.T), token(w.T, w.kube, namespace, "kairship-controller-manager"))),
		"--open-address-ranges=127.0.0.0/8",
		"--health-probe-bind-address="+health, "--metrics-bind-address=0", "--probe-interval=1s", "--import-interval=1s", "--credentials-namespaces="+namespace,
		"--webhook-bind-address="+webhook, "--webhook-cert-file="+w.file("tls.crt", certificate), "--webhook-key-file="+w.file("tls.key", key))
	eventually(w.T, "the controller manager is ready", answers("http://"+health+"/readyz"))

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	w.webhook, err = gmclient.New(gmclient.Options{
		URLs:   []string{"https://" + webhook},
		Secret: func(context.Context) ([]byte, error) { return secret, nil },
		HTTP: &http.Client{
			Timeout:   30 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
		},
	})
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) startAPIServer() {
	w.Helper()
	address := freeAddress(w.T)
	start(w.T, static(w.T, "apiserver"),
		"--kubeconfig="+w.file("kubeconfig", kubeconfig(w.T, apitest.Config(w.T), token(w.T, w.kube, namespace, "kairship-apiserver"))),
		"--open-address-ranges=127.0.0.0/8",
		"--listen-address="+address)
	w.boss = caller{url: "http://" + address, token: token(w.T, w.kube, "team-a", "boss")}
	// It is not ready before it has reached an index, and there is none here.
	eventually(w.T, "the API server answers", answers(w.boss.url+"/healthz"))

	// The boss may do everything in Kairship, and in the instance.
	const name = "system:serviceaccount:team-a:boss"
	w.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "boss"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"},
	}}}, bindingOf("boss", name))
	other, err := client.New(apitest.OtherConfig(w.T), client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	if err := other.Create(w.Context(), bindingOf("cluster-admin", name)); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatal(err)
	}
}

// controllersWork has every controller do what it does.
func (w *world) controllersWork() {
	w.Helper()
	w.create(
		secretOf("alpha-kubeconfig", "kubeconfig", w.instance),
		&v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}, Spec: v1alpha1.InstanceSpec{
			Mode: v1alpha1.InstanceModeExternal, KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: "alpha-kubeconfig"}},
		}},
	)
	alpha := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}}
	w.there(alpha, func() bool { return alpha.Status.KubernetesVersion != "" })
	w.there(&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "k-alpha"}})
	w.there(&pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: "k-alpha"}})
	w.there(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusterpedia-system", Name: "kairship-k-alpha"}})
	w.there(&v1alpha1.InstanceRegistration{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}})

	// A member that wants to be joined, and to host a Managed instance.
	w.create(
		secretOf("m1-credentials", "kubeconfig", w.instance),
		&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: v1alpha1.ClusterSpec{
			Type: v1alpha1.ClusterTypePhysical, APIEndpoint: apitest.OtherConfig(w.T).Host,
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: "m1-credentials"}},
			InstanceRef:          &v1alpha1.InstanceReference{Name: "alpha"},
		}},
	)
	m1 := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	w.there(m1, func() bool { return len(m1.Status.Conditions) > 2 })
	w.create(&v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "gamma"}, Spec: v1alpha1.InstanceSpec{
		Mode: v1alpha1.InstanceModeManaged, HostCluster: "m1", DeletionPolicy: v1alpha1.DeletionPolicyDelete,
	}})
	w.there(&operatorv1alpha1.Karmada{ObjectMeta: metav1.ObjectMeta{Namespace: "k-gamma", Name: "gamma"}})

	receipt, err := w.webhook.Bind(w.Context(), gm.Binding{
		BindingID: "b-1", Sequence: 1, Instance: "alpha", Role: gm.Role("admin"), Subject: gm.Subject{Kind: "User", Name: "alice"},
	})
	if err != nil {
		w.Fatal(err)
	}
	bound := &v1alpha1.InstanceRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: receipt.Object}}
	// Inside an instance without kube-controller-manager nothing puts the roles together.
	w.there(bound, func() bool {
		inside := meta.FindStatusCondition(bound.Status.Conditions, v1alpha1.ConditionInstanceReady)
		return meta.IsStatusConditionTrue(bound.Status.Conditions, v1alpha1.ConditionGlobalReady) && inside != nil && inside.Reason == v1alpha1.ReasonRolesEmpty
	})
}

// apiWorks has the API read and write what it can in the global cluster.
func (w *world) apiWorks() {
	w.Helper()
	// There is no index here. Whether it may be asked is decided before that is noticed.
	const noIndex = "INDEX_UNAVAILABLE"
	names := w.boss.send(w.T, `{ instances { nodes { name viewerCan { update } } } clusters { nodes { name } } }`, noIndex)
	if !strings.Contains(names, "alpha") || !strings.Contains(names, "m1") {
		w.Errorf("the boss sees %s", names)
	}
	w.boss.send(w.T, `{ workloads(first: 1) { nodes { name } } }`, noIndex)
	w.boss.send(w.T, `{ instance(name: "alpha") { resource(version: "v1", resource: "configmaps", namespace: "default", name: "x") { name } } }`, noIndex)
	w.boss.send(w.T, `mutation { createNamespace(input: {instance: "alpha", name: "made-by-the-boss"}) { consistencyToken } }`, noIndex)
	// A control plane is one instance only. The other one here is the global cluster itself.
	w.boss.send(w.T, fmt.Sprintf(`mutation { registerInstance(input: {instance: "beta", kubeconfig: %q}) { instance { name } } }`, kubeconfig(w.T, apitest.Config(w.T), "")), noIndex)
	w.there(secretOf("k-beta-kubeconfig", "", nil))
	beta := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "beta"}}
	w.there(beta, func() bool { return meta.IsStatusConditionTrue(beta.Status.Conditions, v1alpha1.ConditionReachable) })
	w.there(secretOf("kairship-consistency-tokens", "", nil))
	for _, name := range []string{"unjoinCluster", "joinCluster"} {
		w.boss.send(w.T, `mutation { `+name+`(input: {instance: "alpha", cluster: "m1"}) { requested } }`, noIndex)
	}
	w.boss.send(w.T, `mutation { createInstance(input: {instance: "delta", hostCluster: "m1", dryRun: true}) { instance { name } } }`, noIndex)
}

// everythingGoes has the controllers clean up.
func (w *world) everythingGoes() {
	w.Helper()
	w.boss.send(w.T, `mutation { deleteInstance(input: {instance: "beta", force: true}) { instance { name } } }`, "INDEX_UNAVAILABLE")
	w.gone(&v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "beta"}})
	if _, err := w.webhook.Unbind(w.Context(), gm.Binding{
		BindingID: "b-1", Sequence: 2, Instance: "alpha", Role: gm.Role("admin"), Subject: gm.Subject{Kind: "User", Name: "alice"},
	}); err != nil {
		w.Error(err)
	}
	for _, name := range []string{"gamma", "alpha"} {
		i := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}
		w.there(i)
		before := i.DeepCopy()
		i.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
		if err := w.kube.Patch(w.Context(), i, client.MergeFrom(before)); err != nil {
			w.Fatal(err)
		}
		if err := w.kube.Delete(w.Context(), i); err != nil {
			w.Fatal(err)
		}
		w.gone(i)
	}
}

func secretOf(name, key string, value []byte) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if key != "" {
		s.Data = map[string][]byte{key: value}
	}
	return s
}

func bindingOf(clusterRole, user string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "boss-" + clusterRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
}
