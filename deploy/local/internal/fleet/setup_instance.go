package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/samples"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

const (
	// karmadaNamespace is reserved by Karmada: it is not propagated to members.
	karmadaNamespace = "karmada-system"
	// joinNamespace holds the credentials of an instance's members.
	joinNamespace = "karmada-cluster"
	// kairshipAccount is the service account that Kairship uses in an instance or in a member.
	kairshipAccount = "kairship"
)

func (f *Fleet) instanceTasks(name string) []task {
	var joins []string
	for _, m := range topology.MembersOf(name) {
		joins = append(joins, m.Name+"/nodes")
		if !f.settings.WithoutKairship {
			joins = append(joins, m.Name+"/join")
		}
	}
	return []task{
		{name: name + "/setup", needs: []string{name + "-apiserver"}, run: func(ctx context.Context) error { return f.setUpInstance(ctx, name) }},
		{name: name + "/api", needs: []string{name + "/setup", name + "-aggregated-apiserver"}, run: func(ctx context.Context) error {
			return f.awaitAPIService(ctx, name, "v1alpha1.cluster.karmada.io")
		}},
		// Not before the webhook answers: until then every object would be refused.
		{name: name + "/webhooks", needs: []string{name + "-webhook"}, run: func(ctx context.Context) error { return f.setUpWebhooks(ctx, name) }},
		{name: name + "/credentials", needs: []string{name + "/setup", name + "-kcm"}, run: func(ctx context.Context) error {
			// Administrator, because Kairship acts there as its users do (impersonation) and manages RBAC.
			return f.applyOnce(ctx, name+"/credentials", name, serviceAccount(karmadaNamespace, kairshipAccount, "cluster-admin"))
		}},
		{name: name + "/samples", needs: append([]string{name + "/webhooks", name + "-scheduler", name + "-controller-manager"}, joins...), run: func(ctx context.Context) error {
			return f.applySamples(ctx, name)
		}},
	}
}

// setUpInstance makes an apiserver a Karmada control plane.
func (f *Fleet) setUpInstance(ctx context.Context, name string) error {
	ca, err := f.pki(name).CA()
	if err != nil {
		return err
	}
	crds, err := kube.ParseFiles(filepath.Join(f.manifests["karmada/crds"], "bases", "*", "*.yaml"))
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := f.adaptCRD(name, crd, ca); err != nil {
			return fmt.Errorf("CRD %s: %w", crd.GetName(), err)
		}
	}
	// Karmada's detector looks for new kinds twice a minute only, so they are there before it begins.
	kinds, err := samples.Kinds(name)
	if err != nil {
		return err
	}
	crds = append(crds, kinds...)
	objects := append([]*unstructured.Unstructured{namespace(karmadaNamespace), namespace(joinNamespace)}, crds...)
	for _, file := range []string{"cluster-proxy-admin-rbac.yaml", "admin-clusterrole-aggregation.yaml"} {
		rbac, err := kube.ParseFiles(filepath.Join(f.manifests["karmada/deploy"], file))
		if err != nil {
			return err
		}
		objects = append(objects, rbac...)
	}
	objects = append(objects, aggregated("cluster.karmada.io", "v1alpha1", "karmada-aggregated-apiserver", karmadaNamespace, f.ports.Of(name+"/agg"), ca, 2000)...)
	if err := f.applyOnce(ctx, name+"/setup", name, objects); err != nil {
		return err
	}
	return f.awaitEstablished(ctx, name, crds)
}

// adaptCRD points the conversion of Karmada's binding kinds to the webhook on loopback, and stops
// serving their old version: the index and the garbage collector would watch it too, at the price
// of a conversion webhook call per object.
func (f *Fleet) adaptCRD(instance string, crd *unstructured.Unstructured, ca []byte) error {
	switch crd.GetName() {
	case "resourcebindings.work.karmada.io", "clusterresourcebindings.work.karmada.io":
	default:
		return nil
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return err
	}
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if ok && version["name"] == "v1alpha1" {
			version["served"] = false
		}
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		return err
	}
	return unstructured.SetNestedMap(crd.Object, map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"clientConfig":             map[string]any{"url": f.ports.URL(instance+"/webhook") + "/convert", "caBundle": base64(ca)},
			"conversionReviewVersions": []any{"v1"},
		},
	}, "spec", "conversion")
}

// setUpWebhooks registers Karmada's admission webhooks at their loopback address.
func (f *Fleet) setUpWebhooks(ctx context.Context, name string) error {
	ca, err := f.pki(name).CA()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(f.manifests["karmada/deploy"], "webhook-configuration.yaml"))
	if err != nil {
		return err
	}
	adapted := strings.NewReplacer(
		"https://karmada-webhook.karmada-system.svc:443", f.ports.URL(name+"/webhook"),
		"{{caBundle}}", base64(ca),
	).Replace(string(text))
	objects, err := kube.Parse([]byte(adapted))
	if err != nil {
		return fmt.Errorf("karmada's webhook configuration: %w", err)
	}
	return f.applyOnce(ctx, name+"/webhooks", name, objects)
}
