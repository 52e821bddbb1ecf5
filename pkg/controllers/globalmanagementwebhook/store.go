package globalmanagementwebhook

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// store keeps bindings in the global cluster.
type store struct {
	// kube reads and writes live objects: a cache that lags would decide by what
	// another replica has replaced.
	kube client.Client
}

// How a write is tried again after another replica was faster.
const (
	// maxTries bounds it. Each round at least one of the rivals succeeds, and
	// rivals for one binding are few.
	maxTries = 25
	// longestPause is the longest pause before the next try; the first are shorter.
	longestPause = 100 * time.Millisecond
)

// outcome is what became of a binding.
type outcome struct {
	result gm.Result
	// sequence is that of what is stored now; 0 when nothing is.
	sequence int64
}

// decide decides what becomes of a binding by what is stored, nil when nothing is.
type decide func(stored *v1alpha1.InstanceRoleBinding) (decision, *refusal)

// exists reports whether there is an instance.
type exists interface {
	instance(ctx context.Context, name string) (bool, error)
}

// look is a binding that was just read; stored is nil when there was none.
type look struct{ stored *v1alpha1.InstanceRoleBinding }

// decideAndWrite reads a binding, decides, and writes, and repeats that while other clients write in
// between. seen is nil when it was not read before; a write that was decided on an outdated object
// fails, and is decided again.
func (s *store) decideAndWrite(ctx context.Context, name string, seen *look, instances exists, decide decide) (outcome, *refusal) {
	var err error
	for try := range maxTries {
		if try > 0 || seen == nil {
			if seen, err = s.read(ctx, name); err != nil {
				return outcome{}, unavailable(err)
			}
		}
		stored := seen.stored
		decided, refused := decide(stored)
		if refused != nil {
			return outcome{sequence: sequenceOf(stored)}, refused
		}
		if decided.write == nil {
			return outcome{decided.result, sequenceOf(stored)}, nil
		}
		// Where something is stored, its role can be taken away without the instance.
		if decided.grants() || stored == nil {
			found, err := instances.instance(ctx, decided.write.InstanceRef.Name)
			if err != nil {
				return outcome{}, unavailable(err)
			}
			if !found {
				return outcome{sequence: sequenceOf(stored)}, refuse(gm.UnknownInstance, "instance", "there is no instance %s", decided.write.InstanceRef.Name)
			}
		}
		err = s.write(ctx, name, stored, decided.write)
		switch {
		case err == nil:
			return outcome{decided.result, decided.write.Source.Sequence}, nil
		case apierrors.IsInvalid(err):
			return outcome{sequence: sequenceOf(stored)}, invalid(err)
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err):
			return outcome{}, unavailable(err)
		}
		if pause(ctx, try) != nil {
			break
		}
	}
	return outcome{}, unavailable(fmt.Errorf("too many writers at once: %w", err))
}

// pause waits a random time, longer after each try, so that rivals part.
func pause(ctx context.Context, try int) error {
	longest := min(longestPause, time.Duration(try+1)*10*time.Millisecond)
	timer := time.NewTimer(rand.N(longest)) //nolint:gosec // Not a secret.
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// read looks at a binding.
func (s *store) read(ctx context.Context, name string) (*look, error) {
	stored := &v1alpha1.InstanceRoleBinding{}
	switch err := s.kube.Get(ctx, client.ObjectKey{Name: name}, stored); {
	case apierrors.IsNotFound(err):
		return &look{}, nil
	case err != nil:
		return nil, err
	}
	return &look{stored}, nil
}

// write makes what is stored so, unless another client wrote since it was read.
func (s *store) write(ctx context.Context, name string, stored *v1alpha1.InstanceRoleBinding, spec *v1alpha1.InstanceRoleBindingSpec) error {
	if stored == nil {
		return s.kube.Create(ctx, &v1alpha1.InstanceRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue,
				v1alpha1.InstanceLabel:  spec.InstanceRef.Name,
			}},
			Spec: *spec,
		}, client.FieldOwner(Name))
	}
	changed := stored.DeepCopy()
	changed.Spec = *spec
	return s.kube.Update(ctx, changed, client.FieldOwner(Name))
}

// instance reports whether there is an instance.
func (s *store) instance(ctx context.Context, name string) (bool, error) {
	found := metadataOf(v1alpha1.InstanceKind)
	err := s.kube.Get(ctx, client.ObjectKey{Name: name}, found)
	return err == nil, client.IgnoreNotFound(err)
}

// pageSize is how many objects are read at once.
const pageSize = 500

// instances are the names of all instances.
func (s *store) instances(ctx context.Context) (names, error) {
	found := names{}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.InstanceKind + "List"))
	for {
		if err := s.kube.List(ctx, list, client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
			return nil, fmt.Errorf("list the instances: %w", err)
		}
		for i := range list.Items {
			found[list.Items[i].Name] = true
		}
		if list.Continue == "" {
			return found, nil
		}
	}
}

// bindings are all bindings that came from global management, by name.
func (s *store) bindings(ctx context.Context) (map[string]*v1alpha1.InstanceRoleBinding, error) {
	found := map[string]*v1alpha1.InstanceRoleBinding{}
	next := ""
	for {
		list := &v1alpha1.InstanceRoleBindingList{}
		if err := s.kube.List(ctx, list, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list the bindings: %w", err)
		}
		for i := range list.Items {
			if list.Items[i].Spec.Source != nil {
				found[list.Items[i].Name] = &list.Items[i]
			}
		}
		if next = list.Continue; next == "" {
			return found, nil
		}
	}
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return object
}

func sequenceOf(stored *v1alpha1.InstanceRoleBinding) int64 {
	if stored == nil || stored.Spec.Source == nil {
		return 0
	}
	return stored.Spec.Source.Sequence
}
