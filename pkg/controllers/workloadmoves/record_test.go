package workloadmoves

import (
	"context"
	"errors"
	"slices"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/projection"
)

// TestPatchIsRecorded: a patch is recorded once if it changed something, and not if it changed nothing or failed.
func TestPatchIsRecorded(t *testing.T) {
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	var answer error
	same := false
	kube := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(policy.DeepCopy()).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if same || answer != nil {
				return answer
			}
			return c.Patch(ctx, o, p, options...)
		},
	})
	var got []activity.Change
	s := &scope{
		instance: &instance{Client: kube}, of: &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", UID: "uid"}},
		activity: func(c activity.Change) { got = append(got, c) },
	}
	once := []activity.Change{{
		Instance: "alpha", InstanceUID: "uid", Verb: projection.ActivityPatch, Group: "policy.karmada.io", Kind: "PropagationPolicy", Namespace: "shop", Name: "web",
	}}
	for _, tt := range []struct {
		reason string
		same   bool
		answer error
		want   []activity.Change
	}{
		{"it fails", false, errors.New("refused"), nil},
		{"it changes nothing", true, nil, nil},
		{"it changes the policy", false, nil, once},
		{"it is sent again, and changes nothing", true, nil, once},
	} {
		same, answer = tt.same, tt.answer
		stored := &policyv1alpha1.PropagationPolicy{}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(policy), stored); err != nil {
			t.Fatal(err)
		}
		before := client.MergeFrom(stored.DeepCopy())
		stored.Labels = map[string]string{"a": "b"}
		if err := s.patch(t.Context(), stored, before); !errors.Is(err, tt.answer) {
			t.Errorf("%s: %v", tt.reason, err)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: recorded %+v, want %+v", tt.reason, got, tt.want)
		}
	}
}
