package instances

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// A deletion that says which version is meant deletes that one, or the next that it
// made itself; any other is made again for what is there. Whatever comes between:
// an instance that stays is not left marked to be deleted by force.
func TestDeletion(t *testing.T) {
	retain := v1alpha1.DeletionPolicyRetain
	bump := func(ctx context.Context, kube client.WithWatch) error {
		var i v1alpha1.Instance
		if err := kube.Get(ctx, client.ObjectKey{Name: writetest.Name}, &i); err != nil {
			return err
		}
		i.Labels = map[string]string{"somebody": "else"}
		return kube.Update(ctx, &i)
	}
	for _, tt := range []struct {
		reason    string
		versioned bool
		in        DeleteInput
		// meanwhile happens before each deletion; an error is what it gets instead.
		meanwhile func(ctx context.Context, kube client.WithWatch, try int) error
		// stuck has nothing be patched after the mark.
		stuck     bool
		deletions int
		code      apierror.Code
		says      string
		marked    bool
	}{
		{reason: "nothing comes between", versioned: true, in: DeleteInput{Force: true}, deletions: 1},
		{reason: "nothing is written before", versioned: true, deletions: 1},
		{
			reason: "a user changes the version that is meant", versioned: true, in: DeleteInput{Force: true, DeletionPolicy: &retain},
			meanwhile: func(ctx context.Context, kube client.WithWatch, _ int) error { return bump(ctx, kube) },
			deletions: 1, code: apierror.CodeConflict, says: "has changed meanwhile",
		},
		{
			reason:    "any version is meant",
			meanwhile: func(ctx context.Context, kube client.WithWatch, _ int) error { return bump(ctx, kube) },
			deletions: 1,
		},
		{
			reason: "another one of the name", in: DeleteInput{Force: true},
			meanwhile: func(_ context.Context, _ client.WithWatch, try int) error {
				if try < 3 {
					return moved
				}
				return nil
			},
			deletions: 3,
		},
		{
			reason: "it is not deleted", in: DeleteInput{Force: true, DeletionPolicy: &retain},
			meanwhile: func(context.Context, client.WithWatch, int) error { return away },
			deletions: 1, code: apierror.CodeTimeout, says: "what was written into it for that was taken back",
		},
		{
			reason: "nor can the mark be taken off", in: DeleteInput{Force: true}, stuck: true,
			meanwhile: func(context.Context, client.WithWatch, int) error { return away },
			deletions: 1, code: apierror.CodeTimeout, says: "take the annotation kairship.io/force-delete off", marked: true,
		},
		{
			reason:    "there was nothing to mark",
			meanwhile: func(context.Context, client.WithWatch, int) error { return away },
			deletions: 1, code: apierror.CodeTimeout, says: "look at the instance before you try again",
		},
		{
			reason: "it goes although no answer comes", in: DeleteInput{Force: true},
			meanwhile: func(ctx context.Context, kube client.WithWatch, _ int) error {
				return errors.Join(kube.Delete(ctx, registered(writetest.Name)), away)
			},
			deletions: 1, code: apierror.CodeTimeout, says: "look at the instance before you try again",
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			before := registered(writetest.Name)
			before.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDelete
			deletions := 0
			s, kube := changing(t, interceptor.Funcs{
				Delete: func(ctx context.Context, kube client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
					deletions++
					if tt.meanwhile != nil {
						if err := tt.meanwhile(ctx, kube, deletions); err != nil {
							return err
						}
					}
					return kube.Delete(ctx, o, opts...)
				},
				Patch: func(ctx context.Context, kube client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if tt.stuck && deletions > 0 {
						return away
					}
					return kube.Patch(ctx, o, p, opts...)
				},
			}, before)
			in := tt.in
			in.Instance = writetest.Name
			if version := stored(t, kube).ResourceVersion; tt.versioned {
				in.ResourceVersion = &version
			}
			p, err := s.Delete(writetest.As(t.Context()), in)
			if (tt.code == "") != (err == nil) || (err != nil && (apierror.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says))) {
				t.Errorf("got %v, want %q that says %q", err, tt.code, tt.says)
			}
			if err == nil && !p.Deleted {
				t.Errorf("got %+v", p)
			}
			if deletions != tt.deletions {
				t.Errorf("it was deleted %d times, want %d", deletions, tt.deletions)
			}
			var now v1alpha1.Instance
			if err := kube.Get(t.Context(), client.ObjectKey{Name: writetest.Name}, &now); err != nil {
				return
			}
			if marked := now.Annotations[v1alpha1.ForceDeleteAnnotation] != ""; marked != tt.marked || now.Spec.DeletionPolicy != before.Spec.DeletionPolicy {
				t.Errorf("it stays, marked %t, with policy %s", marked, now.Spec.DeletionPolicy)
			}
		})
	}
}
