package workloads

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

func template(image string, replicas any) map[string]any {
	return map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "web", "image": image}}, "terminationGracePeriodSeconds": replicas,
	}}
}

func TestChooseAndPick(t *testing.T) {
	m1 := workload.MemberRevisions{Cluster: "m1", Overrides: make([]policyv1alpha1.Overriders, 1), Revisions: []workload.Revision{{Number: 1, Template: template("web:1-eu", 30)}}}
	m2 := workload.MemberRevisions{Cluster: "m2", Revisions: []workload.Revision{
		{Number: 1, Template: template("web:1", float64(30))}, {Number: 2, Template: template("web:2", float64(30))}, {Number: 3, Template: template("web:3", float64(30))},
	}}
	name := func(s string) *string { return &s }
	number := func(n int) *int { return &n }
	for _, tt := range []struct {
		name    string
		members []workload.MemberRevisions
		cluster *string
		now     any
		number  *int
		want    string
		wantErr string
		why     string
	}{
		{name: "the one before", members: []workload.MemberRevisions{m1, m2}, now: template("web:3", int64(30)), want: "web:2", why: "m1 has overrides; numbers of all types are numbers"},
		{name: "the member lags", members: []workload.MemberRevisions{m2}, now: template("web:4", int64(30)), want: "web:3", why: "what differs counts, not the number"},
		{name: "by number", members: []workload.MemberRevisions{m2}, now: template("web:3", int64(30)), number: number(1), want: "web:1"},
		{name: "no such number", members: []workload.MemberRevisions{m2}, now: template("web:3", int64(30)), number: number(9), wantErr: "input.toRevision"},
		{name: "only overridden", members: []workload.MemberRevisions{m1}, now: template("web:2-eu", int64(30)), want: "web:1-eu", why: "there is no other"},
		{name: "overridden by name", members: []workload.MemberRevisions{m1, m2}, cluster: name("m1"), now: template("web:2-eu", int64(30)), want: "web:1-eu", why: "the caller says so"},
		{name: "another cluster", members: []workload.MemberRevisions{m2}, cluster: name("m9"), wantErr: "input.cluster"},
		{name: "nowhere", wantErr: "input.name"},
		{name: "nothing earlier", members: []workload.MemberRevisions{{Cluster: "m2", Revisions: m2.Revisions[:1]}}, now: template("web:1", int64(30)), wantErr: "input.name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			member, err := choose(tt.members, tt.cluster)
			var revision *workload.Revision
			if err == nil {
				revision, err = pick(member, tt.now, tt.number)
			}
			if tt.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.wantErr+": ") {
					t.Errorf("got %v, want an error at %s", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := normal(revision.Template).Spec.Containers[0].Image; got != tt.want {
				t.Errorf("got %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}

// A change is made anew while the object moves, unless the caller said of which
// version it is.
func TestAgain(t *testing.T) {
	version := "7"
	conflict, refusal := apierror.New(apierror.CodeConflict, "moved"), apierror.New(apierror.CodeForbidden, "no")
	for _, tt := range []struct {
		reason  string
		version *string
		errors  []error
		tries   int
		want    error
	}{
		{"at once", nil, []error{nil}, 1, nil},
		{"at last", nil, []error{conflict, conflict, nil}, 3, nil},
		{"never", nil, slices.Repeat([]error{conflict}, attempts+1), attempts, conflict},
		{"a version was meant", &version, []error{conflict, nil}, 1, conflict},
		{"it is refused", nil, []error{conflict, refusal, nil}, 2, refusal},
	} {
		tries := 0
		_, err := again(Target{ResourceVersion: tt.version}, func() (int, error) {
			tries++
			return 0, tt.errors[tries-1]
		})
		if !errors.Is(err, tt.want) || tries != tt.tries {
			t.Errorf("%s: got %v after %d tries, want %v after %d", tt.reason, err, tries, tt.want, tt.tries)
		}
	}
}

// A version that says nothing would be none.
func TestNoVersion(t *testing.T) {
	i, s := triggering(t)
	in := Target{Instance: writetest.Name, Kind: workload.KindCronJob, Namespace: "shop", Name: "nightly", ResourceVersion: new(string)}
	for reason, send := range map[string]func(context.Context) error{
		"pause": func(ctx context.Context) error {
			_, err := s.Pause(ctx, in)
			return err
		},
		"set the image": func(ctx context.Context) error {
			_, err := s.SetImage(ctx, SetImageInput{Target: in, Images: []Image{{"a", "b"}}})
			return err
		},
		"roll back": func(ctx context.Context) error {
			in := in
			in.Kind = workload.KindDeployment
			_, err := s.Rollback(ctx, RollbackInput{Target: in})
			return err
		},
	} {
		if err := send(writetest.As(t.Context())); !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), "input.resourceVersion: ") {
			t.Errorf("%s: got %v, want INVALID", reason, err)
		}
	}
	if sent := i.Written(); len(sent) > 0 {
		t.Errorf("something was written: %v", sent)
	}
}

func TestImageSteps(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers":     []any{map[string]any{"name": "a", "image": "a:1"}, map[string]any{"name": "b", "image": "b:1"}},
		"initContainers": []any{map[string]any{"name": "i", "image": "i:1"}},
	}}}}
	steps, paths, err := imageSteps(object, "spec.template.spec", []Image{{"b", "b:2"}, {"i", "i:2"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{"replace", "/spec/template/spec/containers/1/image", "b:2"},
		{"replace", "/spec/template/spec/initContainers/0/image", "i:2"},
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Error(diff)
	}
	if got := paths.Argument("spec.template.spec.initContainers[0].image"); got != "input.images[1].image" {
		t.Errorf("an error about the image is at %s", got)
	}
	for _, images := range [][]Image{{{"none", "x"}}, {{"a", "x"}, {"a", "y"}}, {{"a", ""}}, {{"a", "x y"}}} {
		if _, _, err := imageSteps(object, "spec.template.spec", images); err == nil {
			t.Errorf("%v was taken", images)
		}
	}
	if _, _, err := imageSteps(map[string]any{}, "spec.template.spec", []Image{{"a", "x"}}); err == nil {
		t.Error("an object without a pod template was taken")
	}
}
