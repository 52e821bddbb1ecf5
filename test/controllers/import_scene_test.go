package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// heard is how long the import may need for what it hears of at once, on a
	// machine that has other things to do.
	heard = 20 * time.Second
	// discovered is how long a change inside an instance may go unseen: the interval
	// of half a minute, its jitter, and heard.
	discovered = time.Minute
	// moved is how long a move may take. Most of it is Karmada's and Kubernetes' own
	// time for removing namespaces.
	moved = 3 * time.Minute
	// importPrefix begins the names of everything that these tests make.
	importPrefix = "import-suite-"
	// joinNamespace is where Karmada keeps what belongs to members.
	joinNamespace = "karmada-cluster"
)

// imports is the fleet as the tests of the import use it: m3 is the member that
// they move, from beta.
type imports struct {
	*testing.T
	fleet  *fleet.Fleet
	global client.Client
	at     map[string]client.Client
}

func openImports(t *testing.T) *imports {
	t.Helper()
	f := fleet.Open(t)
	s := &imports{T: t, fleet: f, global: f.Client(t, "global"), at: map[string]client.Client{}}
	for _, name := range []string{"alpha", "beta", "m1", "m2", "m3"} {
		s.at[name] = f.Client(t, name)
	}
	return s
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Name: name} }

func (s *imports) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// edit changes the spec of a Cluster.
func (s *imports) edit(name string, change func(*v1alpha1.ClusterSpec)) {
	s.Helper()
	s.must(s.tryEdit(s.Context(), name, change))
}

func (s *imports) tryEdit(ctx context.Context, name string, change func(*v1alpha1.ClusterSpec)) error {
	return poll.Try(ctx, heard, func(ctx context.Context) error {
		cluster := &v1alpha1.Cluster{}
		if err := s.global.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return err
		}
		change(&cluster.Spec)
		return s.global.Update(ctx, cluster)
	})
}

// to names the instance that a cluster is to be joined to; none when it is empty.
func to(instance string, policy v1alpha1.RemovalPolicy) func(*v1alpha1.ClusterSpec) {
	return func(spec *v1alpha1.ClusterSpec) {
		spec.InstanceRef = nil
		if instance != "" {
			spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
		}
		if spec.Join == nil {
			spec.Join = &v1alpha1.ClusterJoin{}
		}
		spec.Join.RemovalPolicy = policy
	}
}

// joinedAs is the condition Joined of a Cluster, for its present spec.
func (s *imports) joinedAs(ctx context.Context, name string) (word, message string, err error) {
	cluster := &v1alpha1.Cluster{}
	if err := s.global.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
		return "", "", err
	}
	found := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionJoined)
	if found == nil || found.ObservedGeneration != cluster.Generation {
		return "", "", errors.New("it is not said yet")
	}
	return string(found.Status) + "/" + found.Reason, found.Message, nil
}

// becomes waits until the condition Joined of a Cluster is as wanted.
func (s *imports) becomes(within time.Duration, name, want string, says ...string) {
	s.Helper()
	s.must(s.tryBecomes(s.Context(), within, name, want, says...))
}

func (s *imports) tryBecomes(ctx context.Context, within time.Duration, name, want string, says ...string) error {
	begun := time.Now()
	err := poll.Try(ctx, within, func(ctx context.Context) error {
		word, message, err := s.joinedAs(ctx, name)
		if err != nil {
			return err
		}
		if word != want {
			return fmt.Errorf("it is %s: %s", word, message)
		}
		for _, part := range says {
			if !strings.Contains(message, part) {
				return fmt.Errorf("it does not say %q: %s", part, message)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s is not %s within %s: %w", name, want, within, err)
	}
	s.Logf("%s is %s after %s", name, want, time.Since(begun).Round(100*time.Millisecond))
	return nil
}

// restoreM3 brings m3 back to beta when the test ends, with its applications.
func (s *imports) restoreM3() {
	s.Helper()
	before := &v1alpha1.Cluster{}
	s.must(s.global.Get(s.Context(), client.ObjectKey{Name: "m3"}, before))
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*moved)
		defer cancel()
		err := s.tryEdit(ctx, "m3", to("beta", v1alpha1.RemovalForce))
		if apierrors.IsNotFound(err) {
			again := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m3"}, Spec: *before.Spec.DeepCopy()}
			err = s.global.Create(ctx, again)
		}
		if err == nil {
			err = s.tryBecomes(ctx, moved, "m3", "True/Joined", `"beta"`)
		}
		if err == nil {
			err = s.tryEdit(ctx, "m3", func(spec *v1alpha1.ClusterSpec) { spec.Join = before.Spec.Join })
		}
		if err == nil {
			err = s.running(ctx)
		}
		if err != nil {
			s.Errorf("bringing m3 back: %v", err)
		}
	})
}

// running waits until beta's applications run in m3.
func (s *imports) running(ctx context.Context) error {
	return poll.Try(ctx, moved, func(ctx context.Context) error {
		bindings := &workv1alpha2.ResourceBindingList{}
		if err := s.at["beta"].List(ctx, bindings, client.InNamespace("billing")); err != nil {
			return err
		}
		for i := range bindings.Items {
			binding := &bindings.Items[i]
			if !meta.IsStatusConditionTrue(binding.Status.Conditions, workv1alpha2.FullyApplied) {
				return fmt.Errorf("%s is not applied: %+v", binding.Name, binding.Status.AggregatedStatus)
			}
			for _, item := range binding.Status.AggregatedStatus {
				if item.Health != workv1alpha2.ResourceHealthy {
					return fmt.Errorf("%s is %s in %s", binding.Name, item.Health, item.ClusterName)
				}
			}
		}
		if len(bindings.Items) == 0 {
			return errors.New("nothing is bound")
		}
		return nil
	})
}

// made are the names of everything that a join makes, by where: what is left of it
// after a cluster has left.
func made(instance, cluster string) map[string][]client.Object {
	within := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: joinNamespace, Name: name} }
	return map[string][]client.Object{
		instance: {
			&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}},
			&corev1.Secret{ObjectMeta: within(cluster)},
			&corev1.Secret{ObjectMeta: within(cluster + "-impersonator")},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-" + cluster}},
		},
		cluster: {
			&corev1.ServiceAccount{ObjectMeta: within("karmada-" + cluster)},
			&corev1.ServiceAccount{ObjectMeta: within("karmada-impersonator")},
			&corev1.Secret{ObjectMeta: within("karmada-" + cluster)},
			&corev1.Secret{ObjectMeta: within("karmada-impersonator")},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "karmada-controller-manager:karmada-" + cluster}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "karmada-controller-manager:karmada-" + cluster}},
			// These two are Karmada's own.
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "karmada-impersonator"}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "karmada-impersonator"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: joinNamespace}},
		},
	}
}

// nothingLeft returns what an instance still has of a cluster; and, where the cluster
// is free now, the cluster of the instance.
func (s *imports) nothingLeft(ctx context.Context, instance, cluster string, free bool) error {
	for where, objects := range made(instance, cluster) {
		if where == cluster && !free {
			continue // It has the same things for the instance that it joined since.
		}
		for _, object := range objects {
			err := s.at[where].Get(ctx, client.ObjectKeyFromObject(object), object)
			if err == nil {
				return fmt.Errorf("%s still has %T %s", where, object, object.GetName())
			}
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return s.noWorkloads(ctx, instance, cluster)
}

// noWorkloads returns what of an instance's applications is still in a cluster.
func (s *imports) noWorkloads(ctx context.Context, instance, cluster string) error {
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}} {
		if err := s.at[cluster].List(ctx, list); err != nil {
			return err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return err
		}
		for _, item := range items {
			object, err := meta.Accessor(item)
			if err != nil {
				return err
			}
			if namespace := object.GetNamespace(); instance == "beta" && namespace == "billing" || instance == "alpha" && (namespace == "shop" || namespace == "ops") {
				return fmt.Errorf("%s still has %T %s/%s of %s", cluster, item, namespace, object.GetName(), instance)
			}
		}
	}
	return nil
}

// secretOf is the token that an instance has for a member.
func (s *imports) tokenIn(ctx context.Context, instance, cluster string) (string, error) {
	secret := &corev1.Secret{}
	err := s.at[instance].Get(ctx, client.ObjectKey{Namespace: joinNamespace, Name: cluster}, secret)
	return string(secret.Data["token"]), err
}

// stays watches Karmada's opinion of a member until the returned function is
// called, and fails the test if it ever was not ready.
func (s *imports) stays(instance, cluster string) (stop func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	looks := 0
	go func() {
		for ctx.Err() == nil {
			karmada := &clusterv1alpha1.Cluster{}
			err := s.at[instance].Get(ctx, types.NamespacedName{Name: cluster}, karmada)
			if ctx.Err() != nil {
				break
			}
			if err == nil && !meta.IsStatusConditionTrue(karmada.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
				err = fmt.Errorf("Karmada finds %s not ready: %v", cluster, karmada.Status.Conditions)
			}
			if err != nil {
				done <- err
				return
			}
			looks++
			time.Sleep(100 * time.Millisecond)
		}
		done <- nil
	}()
	return func() {
		s.Helper()
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		} else if looks == 0 {
			s.Error("the member was not looked at")
		}
	}
}
