package instancelifecycle

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Sources limits where the operator gets the images and the CRDs of Managed instances
// from. The zero value permits only the operator's and Karmada's own, which are taken
// where an Instance names nothing.
type Sources struct {
	// ImageRegistries are registries, with a path where only a part of one is permitted.
	ImageRegistries []string
	// CRDHosts are hosts of CRD archives, with a port where only one is permitted. One
	// that begins with http:// is permitted without encryption.
	CRDHosts []string
}

// refusal returns why an Instance may not have its components from where it says,
// and what to do; empty when it may.
func (s Sources) refusal(components *v1alpha1.InstanceComponents) string {
	if components == nil {
		return ""
	}
	if registry := components.ImageRegistry; registry != "" && !slices.ContainsFunc(s.ImageRegistries, func(permitted string) bool {
		return registry == permitted || strings.HasPrefix(registry, permitted+"/")
	}) {
		return fmt.Sprintf("Images may not come from %s (spec.components.imageRegistry): %s. An administrator of Kairship permits a registry with --allowed-image-registries.",
			registry, permits(s.ImageRegistries))
	}
	if components.CRDTarballURL == "" {
		return ""
	}
	from, err := url.Parse(components.CRDTarballURL)
	if err != nil || !slices.ContainsFunc(s.CRDHosts, func(permitted string) bool { return leadsTo(from, permitted) }) {
		return fmt.Sprintf("Karmada's CRDs may not come from %s (spec.components.crdTarballURL): %s. An administrator of Kairship permits a host with --allowed-crd-hosts.",
			components.CRDTarballURL, permits(s.CRDHosts))
	}
	return ""
}

// leadsTo reports whether a URL leads to a permitted host.
func leadsTo(from *url.URL, permitted string) bool {
	scheme, host := "https", permitted
	if name, plain := strings.CutPrefix(permitted, "http://"); plain {
		scheme, host = "http", name
	}
	return from.Scheme == scheme && (strings.EqualFold(from.Host, host) || strings.EqualFold(from.Hostname(), host))
}

// permits returns what a list permits, for a person.
func permits(list []string) string {
	if len(list) == 0 {
		return "none but the default is permitted"
	}
	return "permitted are the default and " + strings.Join(list, ", ")
}
