package instances

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// KarmadaVersion is a version of Karmada that can be installed.
type KarmadaVersion struct {
	Version string
}

// KarmadaVersions are those that can be installed.
type KarmadaVersions struct {
	Nodes []KarmadaVersion
	// Limited reports whether no other version can be installed.
	Limited bool
}

// KarmadaVersions returns the versions that can be installed, for users who see any instance, or would see each that there
// could be: a fleet begins with none.
func (s *Service) KarmadaVersions(ctx context.Context) (*KarmadaVersions, error) {
	seen, err := s.Visible.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := &KarmadaVersions{Nodes: []KarmadaVersion{}}
	if len(seen) == 0 {
		if all, err := s.Access.All(ctx); err != nil || !all {
			return out, err
		}
	}
	for _, v := range s.Versions {
		out.Nodes, out.Limited = append(out.Nodes, KarmadaVersion{v}), true
	}
	return out, nil
}

// Upgrades returns the versions that a Managed instance can have next.
func (s *Service) Upgrades(i *v1alpha1.Instance) []string { return upgrades(i, s.Versions) }

// upgrades are those of the versions that are later than an instance's own and pass the checks of versions.
func upgrades(i *v1alpha1.Instance, versions []string) []string {
	out := []string{}
	if i.Spec.Mode != v1alpha1.InstanceModeManaged {
		return out
	}
	from := versionOf(i)
	for _, to := range versions {
		if to != from && !slices.ContainsFunc(versionChecks(from, to), func(c Check) bool { return !c.Passed }) {
			out = append(out, to)
		}
	}
	return out
}

// versionOf is the version that an instance has, or is to have; empty when neither is known.
func versionOf(i *v1alpha1.Instance) string {
	return cmp.Or(i.Status.KarmadaVersion, i.Spec.KarmadaVersion)
}

// installable refuses to install a version that the settings do not have. The operator's own, which is installed where an
// Instance names none, is always permitted.
func (s *Service) installable(version string) error {
	if version == "" || len(s.Versions) == 0 || slices.Contains(s.Versions, version) {
		return nil
	}
	return apierror.Invalid("input.karmadaVersion", "Karmada %s can't be installed here: %s can", version, strings.Join(s.Versions, ", "))
}
