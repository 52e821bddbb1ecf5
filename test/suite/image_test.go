package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// imageUse is a container of a pod, or of a template, with an image.
type imageUse struct {
	image, instance, namespace, cluster, name string
}

func (u imageUse) ofPod() bool { return u.cluster != "" }

// shownImage is what Kairship shows of an image.
type shownImage struct {
	Reference               string
	Registry, Tag, Digest   *string
	Repository              string
	PodCount, WorkloadCount int
	Workloads               []struct {
		Instance        struct{ Name string }
		Namespace, Name string
	}
	Clusters []struct {
		InstanceName, ClusterName string
		PodCount                  int
	}
}

func (i *shownImage) String() string {
	text := fmt.Sprintf("%s: %d pods, %d workloads", i.Reference, i.PodCount, i.WorkloadCount)
	for _, w := range i.Workloads {
		text += " " + w.Instance.Name + "/" + w.Namespace + "/" + w.Name
	}
	for _, c := range i.Clusters {
		text += fmt.Sprintf(" %s/%s=%d", c.InstanceName, c.ClusterName, c.PodCount)
	}
	return text
}

// samples are the namespaces of the sample applications.
var samples = []string{"shop", "ops", "billing"}

// imageUses reads the images of the sample applications from the clusters themselves.
func imageUses(ctx context.Context, t testing.TB, on *target) ([]imageUse, error) {
	w := &world{fleet: on.fleet}
	pods, err := w.podItems(ctx, t, schema.List{Parent: "Query", Node: "Pod"})
	if err != nil {
		return nil, err
	}
	var all []imageUse
	for _, i := range pods {
		for _, image := range podImages(i) {
			if i.within(samples...) {
				all = append(all, imageUse{image, i.instance, i.GetNamespace(), i.clusters[0], i.GetName()})
			}
		}
	}
	for _, instance := range []string{"alpha", "beta"} {
		add := func(o client.Object, spec *corev1.PodSpec) {
			if slices.Contains(samples, o.GetNamespace()) {
				for _, c := range spec.Containers {
					all = append(all, imageUse{c.Image, instance, o.GetNamespace(), "", o.GetName()})
				}
			}
		}
		c := on.fleet.Client(t, instance)
		var deployments appsv1.DeploymentList
		var statefulSets appsv1.StatefulSetList
		var daemonSets appsv1.DaemonSetList
		var jobs batchv1.JobList
		var cronJobs batchv1.CronJobList
		for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets, &jobs, &cronJobs} {
			if err := c.List(ctx, list); err != nil {
				return nil, err
			}
		}
		for i := range deployments.Items {
			add(&deployments.Items[i], &deployments.Items[i].Spec.Template.Spec)
		}
		for i := range statefulSets.Items {
			add(&statefulSets.Items[i], &statefulSets.Items[i].Spec.Template.Spec)
		}
		for i := range daemonSets.Items {
			add(&daemonSets.Items[i], &daemonSets.Items[i].Spec.Template.Spec)
		}
		for i := range jobs.Items {
			add(&jobs.Items[i], &jobs.Items[i].Spec.Template.Spec)
		}
		for i := range cronJobs.Items {
			add(&cronJobs.Items[i], &cronJobs.Items[i].Spec.JobTemplate.Spec.Template.Spec)
		}
	}
	return all, nil
}

// imagesOf are the images of some uses as a list shows them, by reference.
func imagesOf(uses []imageUse) []string {
	images := map[string]*shownImage{}
	var names []string
	slices.SortFunc(uses, func(a, b imageUse) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name), cmp.Compare(a.instance, b.instance))
	})
	for _, u := range uses {
		i := images[u.image]
		if i == nil {
			i = &shownImage{Reference: u.image}
			images[u.image], names = i, append(names, u.image)
		}
		if !u.ofPod() {
			i.WorkloadCount++
			w := struct {
				Instance        struct{ Name string }
				Namespace, Name string
			}{Namespace: u.namespace, Name: u.name}
			w.Instance.Name = u.instance
			i.Workloads = append(i.Workloads, w)
			continue
		}
		i.PodCount++
		at := slices.IndexFunc(i.Clusters, func(c struct {
			InstanceName, ClusterName string
			PodCount                  int
		}) bool {
			return c.ClusterName == u.cluster
		})
		if at < 0 {
			at = len(i.Clusters)
			i.Clusters = append(i.Clusters, struct {
				InstanceName, ClusterName string
				PodCount                  int
			}{u.instance, u.cluster, 0})
		}
		i.Clusters[at].PodCount++
	}
	slices.Sort(names)
	all := []string{}
	for _, name := range names {
		clusters := images[name].Clusters
		slices.SortFunc(clusters, func(a, b struct {
			InstanceName, ClusterName string
			PodCount                  int
		}) int {
			return cmp.Or(cmp.Compare(b.PodCount, a.PodCount), cmp.Compare(a.InstanceName, b.InstanceName), cmp.Compare(a.ClusterName, b.ClusterName))
		})
		all = append(all, images[name].String())
	}
	return all
}

// imageCases are the arguments of images. Where clusters are selected, no workload has the image there.
var imageCases = []struct {
	argument string
	value    any
	match    func(imageUse) bool
}{
	{"filter.namespaces", samples, func(imageUse) bool { return true }},
	{"filter.namespaces", []string{"ops"}, func(u imageUse) bool { return u.namespace == "ops" }},
	{"filter.namespaces", []string{}, func(imageUse) bool { return false }},
	{"filter.instances", []string{"beta"}, func(u imageUse) bool { return u.instance == "beta" }},
	{"filter.instances", []string{"none-such"}, func(imageUse) bool { return false }},
	{"filter.cluster", []string{"m3"}, func(u imageUse) bool { return u.instance == "beta" }}, // The only member of beta.
	{"filter.cluster", []string{}, func(imageUse) bool { return false }},
	{"filter.registry", "registry.example.com", func(u imageUse) bool { return strings.HasPrefix(u.image, "registry.example.com/") }},
	{"filter.registry", "registry.example", func(imageUse) bool { return false }},
	{"filter.repository", "shop/", func(u imageUse) bool { return strings.Contains(u.image, "/shop/") }},
	{"filter.repository", "registry.example.com/shop/frontend:1.", func(u imageUse) bool { return strings.Contains(u.image, "/shop/frontend:1.") }},
	{"filter.tag", "1.7.2", func(u imageUse) bool { return strings.HasSuffix(u.image, ":1.7.2") }},
	{"filter.digest", "sha256:" + strings.Repeat("0", 64), func(imageUse) bool { return false }},
	{"filter.text", "FRONTEND canary", func(u imageUse) bool {
		return strings.Contains(u.image, "frontend") && strings.Contains(u.image, "canary")
	}},
	{"orderBy.field", "REFERENCE", func(imageUse) bool { return true }},
	{"orderBy.direction", "ASC", func(imageUse) bool { return true }},
	{"first", 3, func(imageUse) bool { return true }},
	{"after", nil, func(imageUse) bool { return true }},
}

const imagesQuery = `query($first: Int, $after: String, $filter: ImageFilter, $orderBy: ImageOrder) { images(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
	totalCount pageInfo { hasNextPage endCursor } freshness { source }
	nodes { reference registry repository tag digest podCount workloadCount workloads { instance { name } namespace name } clusters { instanceName clusterName podCount } } } }`

// everyImage reads all pages of a list of images.
func everyImage(ctx context.Context, c *gql.Client, variables map[string]any) ([]string, error) {
	all := []string{}
	for {
		data, _, err := gql.Query[struct {
			Images struct {
				TotalCount int
				PageInfo   struct {
					HasNextPage bool
					EndCursor   *string
				}
				Nodes []shownImage
			}
		}](ctx, c, imagesQuery, variables)
		if err != nil {
			return nil, err
		}
		for i := range data.Images.Nodes {
			all = append(all, data.Images.Nodes[i].String())
		}
		if data.Images.PageInfo.HasNextPage {
			variables = with(variables, "after", data.Images.PageInfo.EndCursor)
			continue
		}
		if data.Images.TotalCount != len(all) {
			return nil, fmt.Errorf("%d are counted, and %d shown", data.Images.TotalCount, len(all))
		}
		return all, nil
	}
}

// TestImagesAreWhatTheClustersHave tries every argument against what the clusters themselves say, in pages.
func TestImagesAreWhatTheClustersHave(t *testing.T) {
	on := open(t)
	for _, c := range imageCases {
		t.Run(fmt.Sprintf("%s=%v", c.argument, c.value), func(t *testing.T) {
			variables := map[string]any{"first": 2, "filter": map[string]any{"namespaces": samples}}
			if c.argument == "orderBy.direction" {
				set(variables, "orderBy.field", "REFERENCE")
			}
			set(variables, c.argument, c.value)
			poll.Until(t, propagationTimeout, "images are what the clusters have", func(ctx context.Context) error {
				uses, err := imageUses(ctx, t, on)
				if err != nil {
					return err
				}
				got, err := everyImage(ctx, on.kairship, variables)
				if err != nil {
					return err
				}
				want := imagesOf(slices.DeleteFunc(uses, func(u imageUse) bool { return !c.match(u) }))
				if diff := gocmp.Diff(want, got); diff != "" {
					return fmt.Errorf("the clusters say -, Kairship says +:\n%s", diff)
				}
				return nil
			})
		})
	}
}

// TestUsersOfImages: the list with the most pods first, and as many workloads and clusters of each as are asked for.
func TestUsersOfImages(t *testing.T) {
	on := open(t)
	type answer struct{ Images struct{ Nodes []shownImage } }
	data, _ := gql.MustQuery[answer](t, on.kairship, `query($ns: [String!]) { images(filter: {namespaces: $ns}, orderBy: {field: PODS, direction: DESC}) { nodes {
		reference registry repository tag digest podCount workloads(first: 1) { instance { name } namespace name } clusters(first: 1) { instanceName clusterName podCount } } } }`, map[string]any{"ns": samples})
	for i, image := range data.Images.Nodes {
		if i > 0 && image.PodCount > data.Images.Nodes[i-1].PodCount {
			t.Errorf("%s has more pods than the image before it", image.Reference)
		}
		if len(image.Workloads) > 1 || len(image.Clusters) > 1 {
			t.Errorf("more is shown than was asked for: %s", image.String())
		}
		if *image.Registry+"/"+image.Repository+":"+*image.Tag != image.Reference || image.Digest != nil {
			t.Errorf("%s has the parts %s, %s, %s", image.Reference, *image.Registry, image.Repository, *image.Tag)
		}
	}
	if len(data.Images.Nodes) < 8 {
		t.Errorf("only %d images were looked at", len(data.Images.Nodes))
	}
}

// TestImagesCostOneStatement: a page costs one request, whatever its size, and the workloads of all images one more.
func TestImagesCostOneStatement(t *testing.T) {
	on := open(t)
	for _, first := range []int{1, fifty} {
		for selection, want := range map[string]int{"totalCount nodes { reference podCount clusters { clusterName } }": 1, "nodes { workloads { name health images } }": 2} {
			query := fmt.Sprintf(`query($first: Int!) { images(first: $first) { %s } }`, selection)
			if n := coldCost(t, on.kairship, query, map[string]any{"first": first}); n != want {
				t.Errorf("a page of %d with %s costs %d requests, want %d", first, selection, n, want)
			}
		}
	}
}

// TestImagesOfOneNamespace asks as a viewer of one namespace of alpha: they see the images of its workloads and
// of its pods in the members that these were sent to, with counts of nothing else.
func TestImagesOfOneNamespace(t *testing.T) {
	on := open(t)
	viewer := newPerson(t, on, viewerIn("alpha", "shop"))
	poll.Until(t, propagationTimeout, "the images of shop are shown", func(ctx context.Context) error {
		uses, err := imageUses(ctx, t, on)
		if err != nil {
			return err
		}
		got, err := everyImage(ctx, viewer.Client, map[string]any{"first": 2})
		if err != nil {
			return err
		}
		want := imagesOf(slices.DeleteFunc(uses, func(u imageUse) bool { return u.instance != "alpha" || u.namespace != "shop" }))
		if diff := gocmp.Diff(want, got); diff != "" || len(want) == 0 {
			return fmt.Errorf("%d images, the clusters say -, Kairship says +:\n%s", len(want), diff)
		}
		return nil
	})
	for _, tt := range []struct{ filter, want string }{
		{`{repository: "ops/"}`, "0:"}, {`{namespaces: ["ops"]}`, "0:"}, {`{cluster: ["m3"]}`, "0:"}, {`{instances: ["beta"]}`, "0:"}, {`{text: "agent"}`, "0:"},
	} {
		r := viewer.Must(t, gql.Request{Query: "{ images(filter: " + tt.filter + ") { totalCount nodes { name: reference } } }"})
		if got := summaryOf(t, r); strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.filter, got, tt.want)
		}
	}
}
