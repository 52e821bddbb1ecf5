package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// stableFor is how long something has to stay the same to be believed to have
	// come to rest.
	stableFor = 5 * time.Second
	// stableWithin bounds how long what came before may take to be gone: namespaces go
	// from an instance first, then its Works, and then the members' copies.
	stableWithin = 3 * time.Minute
)

// stable reads until it gets the same again and again, and returns that. What was
// before a test is only worth comparing with when nothing was on its way out then.
func stable[T any](t *testing.T, what string, read func(ctx context.Context) (T, error)) T {
	t.Helper()
	last, err := tryStable(t.Context(), read)
	if err != nil {
		t.Fatalf("not within %s: %s: %v", stableWithin, what, err)
	}
	return last
}

// tryStable does what stable does, and returns why it did not become the same.
func tryStable[T any](ctx context.Context, read func(ctx context.Context) (T, error)) (last T, err error) {
	var since time.Time
	err = poll.Try(ctx, stableWithin, func(ctx context.Context) error {
		now, err := read(ctx)
		if err != nil {
			since = time.Time{}
			return err
		}
		if diff := cmp.Diff(last, now); since.IsZero() || diff != "" {
			last, since = now, time.Now()
			return fmt.Errorf("it changes (-before +now):\n%s", diff)
		}
		if lasted := time.Since(since); lasted < stableFor {
			return fmt.Errorf("it is the same for only %s", lasted.Round(100*time.Millisecond))
		}
		return nil
	})
	return last, err
}

// inventory is what there is in all clusters, by name.
type inventory map[string]bool

// kinds are what is looked through for things that were left behind, by the role
// of the cluster. What Kubernetes makes of these on its own is left out.
func kinds(role string) []string {
	everywhere := []string{
		"v1/Namespace", "v1/Secret", "v1/ServiceAccount", "v1/ConfigMap", "apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet",
		"rbac.authorization.k8s.io/v1/ClusterRole", "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
		"rbac.authorization.k8s.io/v1/Role", "rbac.authorization.k8s.io/v1/RoleBinding",
	}
	switch role {
	case fleet.RoleGlobal:
		return append(everywhere, "cluster.clusterpedia.io/v1alpha2/PediaCluster", "kairship.io/v1alpha1/Instance", "kairship.io/v1alpha1/Cluster",
			"kairship.io/v1alpha1/InstanceRegistration", "kairship.io/v1alpha1/InstanceRoleBinding")
	case fleet.RoleInstance:
		return append(everywhere, "cluster.karmada.io/v1alpha1/Cluster", "work.karmada.io/v1alpha1/Work", "work.karmada.io/v1alpha2/ResourceBinding",
			"work.karmada.io/v1alpha2/ClusterResourceBinding")
	}
	return everywhere
}

// look lists what there is, and what of it is being deleted.
func (s *scene) look(ctx context.Context) (there inventory, leaving []string, err error) {
	there = inventory{}
	for _, cluster := range s.Clusters {
		for _, name := range kinds(cluster.Role) {
			parts := strings.Split(name, "/")
			list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
				APIVersion: strings.Join(parts[:len(parts)-1], "/"), Kind: parts[len(parts)-1] + "List",
			}}
			if err := s.at[cluster.Name].List(ctx, list); err != nil {
				return nil, nil, fmt.Errorf("listing %s in %s: %w", name, cluster.Name, err)
			}
			for i := range list.Items {
				object := &list.Items[i]
				key := strings.Join([]string{cluster.Name, parts[len(parts)-1], object.Namespace, object.Name}, " ")
				there[key] = true
				if !object.DeletionTimestamp.IsZero() {
					leaving = append(leaving, fmt.Sprintf("%s (finalizers %q)", key, object.Finalizers))
				}
			}
		}
	}
	slices.Sort(leaving)
	return there, leaving, nil
}

// atRest is what there is when nothing is on its way out; its error says what is.
func (s *scene) atRest(ctx context.Context) (inventory, error) {
	there, leaving, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	if len(leaving) > 0 {
		return nil, fmt.Errorf("being deleted: %v", leaving)
	}
	for _, instance := range s.Names(fleet.RoleInstance) {
		if err := s.noWorkWithoutNamespace(ctx, instance); err != nil {
			return nil, err
		}
	}
	return there, nil
}

// noWorkWithoutNamespace reports Works for what is in a namespace that was removed from
// the instance, or for that namespace itself: the garbage collector will remove
// them, and Karmada then takes what they made out of the members.
func (s *scene) noWorkWithoutNamespace(ctx context.Context, instance string) error {
	works, namespaces := &workv1alpha1.WorkList{}, &corev1.NamespaceList{}
	for _, list := range []client.ObjectList{works, namespaces} {
		if err := s.at[instance].List(ctx, list); err != nil {
			return fmt.Errorf("listing %T in %s: %w", list, instance, err)
		}
	}
	there := map[string]bool{"": true}
	for i := range namespaces.Items {
		there[namespaces.Items[i].Name] = true
	}
	var without []string
	for i := range works.Items {
		for _, manifest := range works.Items[i].Spec.Workload.Manifests {
			of := &metav1.PartialObjectMetadata{}
			if err := json.Unmarshal(manifest.Raw, of); err != nil {
				return fmt.Errorf("reading Work %s in %s: %w", works.Items[i].Name, instance, err)
			}
			namespace := of.Namespace
			if of.Kind == "Namespace" {
				namespace = of.Name
			}
			if !there[namespace] {
				without = append(without, fmt.Sprintf("%s/%s for %s %s/%s", works.Items[i].Namespace, works.Items[i].Name, of.Kind, of.Namespace, of.Name))
			}
		}
	}
	if len(without) > 0 {
		return fmt.Errorf("Works in %s whose namespace was removed: %v", instance, without)
	}
	return nil
}
