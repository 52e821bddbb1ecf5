package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

const indexNamespace = "clusterpedia-system"

// globalRBAC says who may do what in the global cluster. Kairship's programs have the roles of the
// chart (setup_chart.go); people get theirs by global management (setup_people.go).
const globalRBAC = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kairship-local:admin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: admin}]
`

// setUpGlobal prepares the global cluster for the index and for Kairship.
func (f *Fleet) setUpGlobal(ctx context.Context) error {
	ca, err := f.pki("global").CA()
	if err != nil {
		return err
	}
	crds, err := kube.ParseFiles(filepath.Join(f.manifests["clusterpedia/crds"], "*_*.yaml"))
	if err != nil {
		return err
	}
	objects := append([]*unstructured.Unstructured{namespace(indexNamespace), namespace(topology.SystemNamespace)}, crds...)
	objects = append(objects, kube.MustParse(globalRBAC)...)
	objects = append(objects, aggregated("clusterpedia.io", "v1beta1", "clusterpedia-apiserver", indexNamespace, f.ports.Of("clusterpedia/api"), ca, 1000)...)
	if err := f.applyOnce(ctx, "global/setup", "global", objects); err != nil {
		return err
	}
	if f.settings.Operator {
		operator, err := f.operatorCRDs(ctx)
		if err != nil {
			return err
		}
		if err := f.applyOnce(ctx, "global/operator-crds", "global", operator); err != nil {
			return err
		}
		crds = append(crds, operator...)
	}
	own, err := f.kairshipCRDs()
	if err != nil || len(own) == 0 {
		return err
	}
	if err := f.applyOnce(ctx, "global/kairship-crds", "global", own); err != nil {
		return err
	}
	return f.awaitEstablished(ctx, "global", append(crds, own...))
}

// kairshipCRDs reads Kairship's own CRDs from the clone.
func (f *Fleet) kairshipCRDs() ([]*unstructured.Unstructured, error) {
	folder := filepath.Join(f.repository, "deploy", "helm", "kairship", "crds")
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		f.report.Sayf("warning: %s does not exist, so neither instances nor clusters are registered", folder)
		return nil, nil
	}
	return kube.ParseFiles(filepath.Join(folder, "*.yaml"))
}

// awaitEstablished waits until the apiserver serves the CRDs.
func (f *Fleet) awaitEstablished(ctx context.Context, cluster string, crds []*unstructured.Unstructured) error {
	ctx, cancel := stepContext(ctx)
	defer cancel()
	for _, crd := range crds {
		err := f.clients[cluster].WaitFor(ctx, crd.GroupVersionKind(), "", crd.GetName(), func(o *unstructured.Unstructured) string {
			return kube.ConditionIs(o, "Established", "True")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitIndex waits until the index answers through the global apiserver.
func (f *Fleet) awaitIndex(ctx context.Context) error {
	return f.awaitAPIService(ctx, "global", "v1beta1.clusterpedia.io")
}
