package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/globalmanagement/client"
)

// webhookSecret is the Secret from which Kairship knows what the platform signs with.
const webhookSecret = "kairship-global-management"

var roleBindingGVK = v1alpha1.GroupVersion.WithKind("InstanceRoleBinding")

// webhooks are the processes that serve global management.
func (f *Fleet) webhooks() []string {
	names := make([]string, controllerReplicas)
	for i := range names {
		names[i] = fmt.Sprintf("kairship-controller-manager-%d", i)
	}
	return names
}

// webhookURLs are where they serve it.
func (f *Fleet) webhookURLs() []string {
	urls := make([]string, controllerReplicas)
	for i := range urls {
		urls[i] = f.ports.URL(fmt.Sprintf("kairship-%d/webhook", i))
	}
	return urls
}

// shareWebhookSecret puts the platform's secret where Kairship reads it. One that is there is left
// alone: it may have been rotated.
func (f *Fleet) shareWebhookSecret(ctx context.Context) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	secret, err := os.ReadFile(f.paths.WebhookSecret())
	if err != nil {
		return err
	}
	return f.clients["global"].Create(ctx, kube.MustParse(`
apiVersion: v1
kind: Secret
metadata: {name: %[2]s, namespace: %[1]s}
data: {primary: %[3]s}
`, topology.SystemNamespace, webhookSecret, base64(bytes.TrimSpace(secret)))[0])
}

// bindPeople gives the people their roles in the way that a platform does: by the signed webhook.
// What Kairship knows of a binding is left alone, so that a role that a user took away stays away.
func (f *Fleet) bindPeople(ctx context.Context) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	platform, err := f.platform()
	if err != nil {
		return err
	}
	begun, told := time.Now(), false
	for _, b := range topology.Bindings() {
		_, err := f.clients["global"].Get(ctx, roleBindingGVK, "", v1alpha1.BindingName(b.ID))
		if apierrors.IsNotFound(err) {
			told = true
			_, err = platform.Bind(ctx, gm.Binding{
				BindingID: b.ID, Sequence: 1, Subject: gm.Subject{Kind: gm.User, Name: b.Person}, Role: gm.Role(b.Role), Instance: b.Instance,
			})
		}
		if err != nil {
			return fmt.Errorf("giving %s the role %s on %s: %w", b.Person, b.Role, b.Instance, err)
		}
	}
	for _, b := range topology.Bindings() {
		if err := f.clients["global"].WaitFor(ctx, roleBindingGVK, "", v1alpha1.BindingName(b.ID), boundOrRevoked); err != nil {
			return err
		}
	}
	if told {
		f.report.Step("global/people", "given their roles", time.Since(begun))
	}
	return nil
}

// boundOrRevoked says what a binding lacks until its role has taken effect.
func boundOrRevoked(binding *unstructured.Unstructured) string {
	if revoked, _, _ := unstructured.NestedBool(binding.Object, "spec", "revoked"); revoked {
		return ""
	}
	return kube.ConditionIs(binding, v1alpha1.ConditionReady, "True")
}

// platform is the client with which the fleet plays the platform.
func (f *Fleet) platform() (*client.Client, error) {
	ca, err := f.pki("global").CA()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return client.New(client.Options{
		URLs:   f.webhookURLs(),
		Secret: func(context.Context) ([]byte, error) { return os.ReadFile(f.paths.WebhookSecret()) },
		HTTP:   &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}, Timeout: 10 * time.Second},
	})
}
