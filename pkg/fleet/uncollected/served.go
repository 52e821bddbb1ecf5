package uncollected

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// find finds a kind in what an instance serves. It costs no request where what is
// remembered has it. Else the instance is asked again, once in a few seconds at most.
func find(ctx context.Context, client instanceproxy.Client, of schema.GroupVersionResource) (write.Kind, error) {
	known, err := client.Discovery(ctx)
	if err != nil {
		return write.Kind{}, undiscovered(client, of, err)
	}
	kind, err := served(client.Instance(), known, of)
	if err == nil {
		return kind, nil
	}
	return findAgain(ctx, client, of)
}

// findAgain finds a kind in what an instance serves now.
func findAgain(ctx context.Context, client instanceproxy.Client, of schema.GroupVersionResource) (write.Kind, error) {
	known, err := client.Rediscover(ctx)
	if err != nil {
		return write.Kind{}, undiscovered(client, of, err)
	}
	return served(client.Instance(), known, of)
}

func undiscovered(client instanceproxy.Client, of schema.GroupVersionResource, err error) error {
	return write.Translate(client.Instance(), err, write.Kind{GroupVersionResource: of}, http.MethodGet, "", "", nil)
}

// served finds a kind in a discovery, or says what is wrong with it.
func served(instance string, d *instanceproxy.Discovery, of schema.GroupVersionResource) (write.Kind, error) {
	told := false
	for _, list := range d.Resources {
		if list.GroupVersion != of.GroupVersion().String() {
			continue
		}
		told = true
		for i := range list.APIResources {
			r := &list.APIResources[i]
			switch {
			case r.Name != of.Resource:
			case !slices.Contains(r.Verbs, "list"):
				return write.Kind{}, unanswered(apierror.Invalid("resource", "instance %q does not let anybody list %s", instance, said(of)))
			default:
				return write.Kind{GroupVersionResource: of, Kind: r.Kind, Namespaced: r.Namespaced}, nil
			}
		}
	}
	argument := wrong(d, of)
	if argument == "" && !told {
		return write.Kind{}, apierror.New(apierror.CodeInstanceUnavailable,
			"instance %q does not say now what it serves in %s: the server of this group does not answer; try again", instance, of.GroupVersion())
	}
	if argument == "" {
		argument = "resource"
	}
	message := fmt.Sprintf("instance %q does not serve %s", instance, said(of))
	if names := near(d, of); len(names) > 0 {
		message += "; did you mean " + strings.Join(names, ", or ") + "?"
	}
	err := apierror.Invalid(argument, "%s", message)
	err.Cause = ErrNotServed
	return write.Kind{}, unanswered(err)
}

// wrong is the argument that alone is wrong: a group or a version that is not served.
// It is empty where both are.
func wrong(d *instanceproxy.Discovery, of schema.GroupVersionResource) string {
	at := slices.IndexFunc(d.Groups, func(g *metav1.APIGroup) bool { return g.Name == of.Group })
	if at < 0 {
		return "group"
	}
	if !slices.ContainsFunc(d.Groups[at].Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == of.Version }) {
		return "version"
	}
	return ""
}

// said is a kind as a message has it: deployments of apps/v1, secrets of v1.
func said(of schema.GroupVersionResource) string {
	return fmt.Sprintf("%q of %s", of.Resource, of.GroupVersion())
}
