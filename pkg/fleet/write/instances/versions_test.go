package instances

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
)

func TestUpgrades(t *testing.T) {
	at := func(mode v1alpha1.InstanceMode, asked, found string) *v1alpha1.Instance {
		i := &v1alpha1.Instance{}
		i.Spec.Mode, i.Spec.KarmadaVersion, i.Status.KarmadaVersion = mode, asked, found
		return i
	}
	const managed, external = v1alpha1.InstanceModeManaged, v1alpha1.InstanceModeExternal
	listed := []string{"v1.17.4", "v1.18.2", "v1.18.3", "v1.19.0", "v1.20.0", "v2.0.0"}
	for _, c := range []struct {
		reason   string
		instance *v1alpha1.Instance
		versions []string
		want     string
	}{
		{"later by a patch and by a minor version", at(managed, "v1.18.2", "v1.18.2"), listed, "v1.18.3 v1.19.0"},
		{"what is installed counts", at(managed, "v1.18.2", "v1.17.4"), listed, "v1.18.2 v1.18.3"},
		{"what is asked for, before that is known", at(managed, "v1.19.0", ""), listed, "v1.20.0"},
		{"nothing is known", at(managed, "", ""), listed, ""},
		{"no list", at(managed, "v1.18.2", "v1.18.2"), nil, ""},
		{"Kairship installs no External one", at(external, "v1.18.2", "v1.18.2"), listed, ""},
	} {
		if got := upgrades(c.instance, c.versions); got == nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %q", c.reason, got, c.want)
		}
	}
}

func TestInstallable(t *testing.T) {
	listed := &Service{Versions: []string{"v1.18.2", "v1.19.0"}}
	for _, c := range []struct {
		reason, version string
		service         *Service
		refused         bool
	}{
		{"a listed one", "v1.19.0", listed, false},
		{"the operator's own", "", listed, false},
		{"another", "v1.18.3", listed, true},
		{"any, without a list", "v1.18.3", &Service{}, false},
	} {
		err := c.service.installable(c.version)
		if (err != nil) != c.refused || err != nil && (!apierror.Is(err, apierror.CodeInvalid) || !strings.Contains(err.Error(), "v1.18.2, v1.19.0")) {
			t.Errorf("%s: got %v", c.reason, err)
		}
	}
}

// rules are those of every user.
type rules []authorizationv1.ResourceRule

func (r rules) Rules(context.Context, authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: r}, nil
}

// Users who see no instance learn nothing about the settings, but for those who would see the first one.
func TestKarmadaVersions(t *testing.T) {
	group := []string{v1alpha1.GroupVersion.Group}
	everything := rules{{Verbs: []string{"get"}, APIGroups: group, Resources: []string{"instances", "instances/resources"}}}
	for _, c := range []struct {
		reason  string
		objects []client.Object
		rules   rules
		want    int
	}{
		{"an instance is visible", []client.Object{registered("alpha")}, nil, 2},
		{"no instance is visible", nil, rules{{Verbs: []string{"get"}, APIGroups: group, Resources: []string{"instances"}, ResourceNames: []string{"alpha"}}}, 0},
		{"there is no instance, and each would be visible", nil, everything, 2},
	} {
		s, kube := stand(t, interceptor.Funcs{}, c.objects...)
		s.Visible = instance.NewService(kube, &freshness.Tracker{Inventory: kube, Now: time.Now, Collector: freshness.NewHeartbeat(time.Now), Global: freshness.NewHeartbeat(time.Now)})
		s.Access = access.New(authz.NewResolver(c.rules, nil, nil, nil))
		s.Versions = []string{"v1.18.2", "v1.19.0"}
		got, err := s.KarmadaVersions(authz.WithUser(t.Context(), authz.User{Name: "carol"}))
		if err != nil || len(got.Nodes) != c.want || got.Limited != (c.want > 0) {
			t.Errorf("%s: got %+v, %v", c.reason, got, err)
		}
	}
}
