package propagated

import (
	"fmt"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// binding is that of an object, sent to some clusters.
func binding(namespace, name string, clusters ...string) *workv1alpha2.ResourceBindingSpec {
	spec := &workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}}
	for _, c := range clusters {
		spec.Clusters = append(spec.Clusters, workv1alpha2.TargetCluster{Name: c})
	}
	return spec
}

func TestObjectsAreThoseOfTheCluster(t *testing.T) {
	o := &Objects{Instance: "beta", Cluster: "m1"}
	for _, b := range []*workv1alpha2.ResourceBindingSpec{
		binding("shop", "here", "m2", "m1"), binding("shop", "elsewhere", "m2"), binding("shop", "nowhere"), binding("", "wide", "m1"),
	} {
		o.Add(b)
	}
	if got := fmt.Sprint(o.Count, o.Named); got != "2 [Deployment shop/here Deployment wide]" {
		t.Errorf("got %s", got)
	}
}

func TestMessageNamesABoundedNumber(t *testing.T) {
	for _, c := range []struct {
		reason string
		count  int
		more   bool
		says   []string
		not    string
	}{
		{"one", 1, false, []string{"1 object is", `by instance "beta"`, "Deployment shop/0.", "Force"}, "more"},
		{"as many as are named", 10, false, []string{"10 objects are", "Deployment shop/9."}, "more"},
		{"more than are named", 25, false, []string{"25 objects are", "Deployment shop/9 and 15 more"}, "shop/10"},
		{"more than were counted", 25, true, []string{"at least 25 objects are", "and 15 more"}, "shop/10"},
	} {
		o := &Objects{Instance: "beta", Cluster: "m1", More: c.more}
		for i := range c.count {
			o.Add(binding("shop", fmt.Sprint(i), "m1"))
		}
		got := o.Message()
		for _, part := range c.says {
			if !strings.Contains(got, part) {
				t.Errorf("%s: it does not say %q: %s", c.reason, part, got)
			}
		}
		if strings.Contains(got, c.not) {
			t.Errorf("%s: it says %q: %s", c.reason, c.not, got)
		}
	}
}
