package webhook

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// bindingOf is what a platform would send about a binding that is stored.
func bindingOf(b *v1alpha1.InstanceRoleBinding) gm.Binding {
	return gm.Binding{
		BindingID: b.Spec.Source.BindingID, Sequence: b.Spec.Source.Sequence, Role: gm.Role(b.Spec.Role), Instance: b.Spec.InstanceRef.Name,
		Subject: gm.Subject{Kind: gm.SubjectKind(b.Spec.Subject.Kind), Name: b.Spec.Subject.Name}, Namespaces: b.Spec.Namespaces,
	}
}

// TestResync makes what is stored equal to what the platform has, which here is
// what there is already, but for three bindings.
func TestResync(t *testing.T) {
	s := begin(t)
	for _, id := range []string{"same", "changed", "gone"} {
		if _, err := s.platform.Bind(t.Context(), s.binding(id, 3)); err != nil {
			t.Fatal(err)
		}
	}
	all := gm.Resync{AsOf: time.Now().UnixMilli(), Bindings: []gm.Binding{s.binding("missing", 7)}}
	for _, b := range s.all(t.Context()) {
		is := bindingOf(&b)
		switch {
		case is.BindingID == s.prefix+"gone", b.Spec.Revoked:
			continue
		case is.BindingID == s.prefix+"changed":
			is.Sequence, is.Role = 4, gm.Editor
		}
		all.Bindings = append(all.Bindings, is)
	}
	report, err := s.platform.Resync(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	want := map[gm.Result]int{gm.Unchanged: len(all.Bindings) - 2, gm.Stored: 2, gm.Revoked: 1}
	if diff := cmp.Diff(want, report.Counts); diff != "" {
		t.Errorf("results (-want +got):\n%s\n%+v", diff, report.Bindings)
	}
	if !s.stored("gone").Spec.Revoked || s.stored("changed").Spec.Role != v1alpha1.RoleEditor || s.stored("missing").Spec.Source.Sequence != 7 {
		t.Error("what is stored is not what the platform has")
	}

	before := s.picture()
	all.AsOf = time.Now().UnixMilli()
	if report, err = s.platform.Resync(t.Context(), all); err != nil || report.Counts[gm.Unchanged] != len(report.Bindings) {
		t.Errorf("the second time: %v, %+v", err, report.Counts)
	}
	if after := s.picture(); after != before {
		t.Errorf("the second time something changed:\n%s\nwas:\n%s", after, before)
	}
}
