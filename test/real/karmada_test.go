package real

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestKarmadaUpgrade upgrades the operator by the documented commands, and then the instance by one field, from one release of
// Karmada to the next. Kairship answers all the time, and the application's pods run on.
func TestKarmadaUpgrade(t *testing.T) {
	if os.Getenv("KAIRSHIP_REAL_EARLIER") == "" {
		t.Skip("the node runs the Karmada that Kairship is tested with: `make test-real-karmada` begins with the one before it")
	}
	w := open(t)
	w.awaitRunning(t, instance)
	earlier := w.version(t)
	if got := w.karmadaTags(t); !slices.Equal(got, []string{earlier}) {
		t.Fatalf("the instance's images are of %v, want %s", got, earlier)
	}
	before := w.uids(t, shop)
	TestApplicationRuns(t)
	l := w.begin(t)

	out, err := exec.CommandContext(t.Context(), w.Program, "up", "--earlier-karmada", "--upgrade-operator", "--dir", w.dir, "--network", w.Network).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	w.awaitRunning(t, instance)
	if got := w.karmadaTags(t); !slices.Equal(got, []string{earlier}) {
		t.Errorf("the new operator alone changed the instance's images to %v", got)
	}

	next := w.upgradeVersion(t)
	w.update(t, instance, map[string]any{"karmadaVersion": next})
	poll.Until(t, installed, "every component is of "+next, func(ctx context.Context) error {
		deployments, err := w.kube.AppsV1().Deployments("k-"+instance).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range deployments.Items {
			// The operator has each kube-controller-manager on a node of its own, and there is one: the next has no room.
			d := &deployments.Items[i]
			if d.Name == instance+"-karmada-kube-controller-manager" {
				continue
			}
			if d.Status.UpdatedReplicas != d.Status.Replicas || d.Status.ReadyReplicas != d.Status.Replicas || d.Status.ObservedGeneration != d.Generation {
				return fmt.Errorf("%s is at %+v", d.Name, d.Status)
			}
		}
		if got := w.karmadaTags(t); !slices.Equal(got, []string{next}) {
			return fmt.Errorf("the images are of %v", got)
		}
		return nil
	})
	w.awaitRunning(t, instance)
	l.check(t, 0)
	TestApplicationRuns(t)
	if after := w.uids(t, shop); !slices.Equal(before, after) {
		t.Errorf("the application's pods were %v and are %v", before, after)
	}
	data, _ := gql.MustQuery[told](t, w.kairship, instanceQuery, map[string]any{"name": instance})
	if data.Instance.KarmadaVersion != next {
		t.Errorf("Kairship shows version %s, want %s", data.Instance.KarmadaVersion, next)
	}
	if members := data.Instance.MemberClusters.Nodes; len(members) != 1 || members[0].Name != member || !members[0].Ready {
		t.Errorf("its members are %+v, want %s alone, and ready", members, member)
	}
}

// karmadaTags are the tags of the images of Karmada's own components in the instance's namespace, each once.
func (w *world) karmadaTags(t *testing.T) []string {
	t.Helper()
	deployments, err := w.kube.AppsV1().Deployments("k-"+instance).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for i := range deployments.Items {
		for _, c := range deployments.Items[i].Spec.Template.Spec.Containers {
			if name, tag, tagged := strings.Cut(c.Image, ":"); tagged && strings.Contains(name, "/karmada-") {
				tags = append(tags, tag)
			}
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// upgradeVersion is the release that the operator is of.
func (w *world) upgradeVersion(t *testing.T) string {
	t.Helper()
	operator, err := w.kube.AppsV1().Deployments("karmada-system").Get(t.Context(), "karmada-operator", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	image := operator.Spec.Template.Spec.Containers[0].Image
	_, version, tagged := strings.Cut(image, ":")
	if !tagged {
		t.Fatalf("the operator's image is %s", image)
	}
	return version
}
