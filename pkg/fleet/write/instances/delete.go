package instances

import (
	"context"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// DeleteInput is the input of deleteInstance.
type DeleteInput struct {
	Instance        string
	ResourceVersion *string
	DeletionPolicy  *v1alpha1.DeletionPolicy
	Force           bool
	DryRun          bool
}

// DeletePayload is what became of a deletion.
type DeletePayload struct {
	Payload
	// Deleted reports whether the Instance no longer exists; otherwise what was made for it is
	// being removed.
	Deleted bool
}

// attempts is how often an instance is marked and deleted when something else came
// between: controllers write its status at any time.
const attempts = 10

// Delete has an instance let go: Kairship forgets it, and, where that is the
// policy, its Karmada is uninstalled.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	for try := 1; ; try++ {
		i, err := s.remove(ctx, in)
		switch {
		case in.ResourceVersion == nil && try < attempts && apierror.Is(err, apierror.CodeConflict) && apierrors.IsConflict(err):
			continue
		case err != nil:
			return nil, err
		case in.DryRun:
			return &DeletePayload{Payload: *s.payload(i)}, nil
		}
		return s.deleted(ctx, i)
	}
}

// remove annotates the Instance as deletable, and deletes it. In a dry run it only tries the
// annotation.
func (s *Service) remove(ctx context.Context, in DeleteInput) (*v1alpha1.Instance, error) {
	before, i, err := s.mark(ctx, in)
	if err != nil || in.DryRun || i.DeletionTimestamp != nil {
		return i, err
	}
	only := client.Preconditions{UID: &i.UID}
	if in.ResourceVersion != nil {
		only.ResourceVersion = &i.ResourceVersion // The one that was meant, or what the mark made of it.
	}
	if err := s.Global.Delete(ctx, i, only); client.IgnoreNotFound(err) != nil {
		return nil, s.unmark(ctx, before, i, translate(http.MethodDelete, i.Name, err))
	}
	return i, nil
}

// mark finds the Instance that may be deleted, and writes into it how. It returns it
// as it was, too.
func (s *Service) mark(ctx context.Context, in DeleteInput) (before, i *v1alpha1.Instance, err error) {
	i, err = s.find(ctx, in.Instance, authz.VerbDeleteInstance, "delete")
	if err != nil {
		return nil, nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, nil); err != nil {
		return nil, nil, err
	}
	if err := based(i, in.ResourceVersion); err != nil {
		return nil, nil, err
	}
	before = i.DeepCopy()
	if in.DeletionPolicy != nil {
		i.Spec.DeletionPolicy = *in.DeletionPolicy
	}
	if in.Force {
		if i.Annotations == nil {
			i.Annotations = map[string]string{}
		}
		i.Annotations[v1alpha1.ForceDeleteAnnotation] = "true"
	} else if err := s.unused(ctx, i); err != nil {
		return nil, nil, err
	}
	if err := s.patch(ctx, before, i, in.DryRun); err != nil {
		return nil, nil, err
	}
	return before, i, nil
}

// unmark takes out of an Instance that was not deleted what mark wrote into it: the
// next deletion would be by force, which was not asked for. It returns
// why the deletion failed, and what became of the mark.
func (s *Service) unmark(ctx context.Context, before, marked *v1alpha1.Instance, refused error) error {
	was, is := before.Annotations[v1alpha1.ForceDeleteAnnotation], marked.Annotations[v1alpha1.ForceDeleteAnnotation]
	if was == is && before.Spec.DeletionPolicy == marked.Spec.DeletionPolicy {
		return refused
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
	defer cancel()
	for try := 1; ; try++ {
		var now v1alpha1.Instance
		err := s.Global.Get(ctx, client.ObjectKeyFromObject(marked), &now)
		if apierrors.IsNotFound(err) || (err == nil && (now.UID != marked.UID || now.DeletionTimestamp != nil)) {
			return refused // It goes anyway, or another client deleted it.
		}
		if err == nil {
			found := now.DeepCopy()
			unmarked(&now, before, marked)
			err = s.patch(ctx, found, &now, false)
		}
		switch {
		case err == nil:
			return half(refused, "it was not deleted, and what was written into it for that was taken back")
		case !apierrors.IsConflict(err) || try == attempts:
			return half(refused, "it was not deleted, but it is marked for that: take the annotation %s off and look at its deletionPolicy, or delete it again",
				v1alpha1.ForceDeleteAnnotation)
		}
	}
}

// unmarked gives an Instance what it held before it was marked, where no other client
// wrote something else since.
func unmarked(now, before, marked *v1alpha1.Instance) {
	const force = v1alpha1.ForceDeleteAnnotation
	if now.Spec.DeletionPolicy == marked.Spec.DeletionPolicy {
		now.Spec.DeletionPolicy = before.Spec.DeletionPolicy
	}
	if now.Annotations[force] != marked.Annotations[force] {
		return
	}
	if value := before.Annotations[force]; value != "" {
		now.Annotations[force] = value
	} else {
		delete(now.Annotations, force)
	}
}

// deleted reads what became of an Instance.
func (s *Service) deleted(ctx context.Context, i *v1alpha1.Instance) (*DeletePayload, error) {
	var now v1alpha1.Instance
	err := s.Global.Get(ctx, client.ObjectKeyFromObject(i), &now)
	if client.IgnoreNotFound(err) != nil {
		return nil, translate(http.MethodGet, i.Name, err)
	}
	if gone := err != nil || now.UID != i.UID; gone {
		stamp := metav1.NewTime(s.Now())
		i.DeletionTimestamp = &stamp
		s.await(ctx, i)
		return &DeletePayload{Deleted: true}, nil
	}
	s.await(ctx, &now)
	return &DeletePayload{Payload: *s.payload(&now)}, nil
}

// unused refuses while clusters are joined. The controller refuses it too; here
// it is known before anything is written.
func (s *Service) unused(ctx context.Context, i *v1alpha1.Instance) error {
	var all v1alpha1.ClusterList
	if err := s.Watched.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return write.Unanswered(err, "the instance")
	}
	var joined []string
	for n := range all.Items {
		if all.Items[n].Holds(i.Name) {
			joined = append(joined, all.Items[n].Name)
		}
	}
	if len(joined) == 0 {
		return nil
	}
	slices.Sort(joined)
	return apierror.In(apierror.At(apierror.New(apierror.CodeConflict,
		"clusters are joined to instance %q: %s. Have them leave first (unjoinCluster), or set force to leave them as they are", i.Name, enumerate(joined)), "input.force"), i.Name)
}

// mostNamed bounds how many names an error enumerates.
const mostNamed = 20

func enumerate(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNamed], ", ") + " and others"
}
