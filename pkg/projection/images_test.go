package projection_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

const sum = "sha256:50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c"

// testImages differ in what an ImageFilter names.
var testImages = []string{
	"web", "web:1", "shop/web:1", "registry.example.com/shop/web:1", "registry.example.com/shop/web:1.2", "registry.example.com/web:1@" + sum,
	"localhost/web@" + sum, "localhost:5000/web:Über", "a%b:1",
}

// runningImages are pods and workloads with images of testImages.
func runningImages() ([]projection.PodRow, []projection.Workload) {
	some := func(i int) []string {
		if i%7 == 0 {
			return []string{}
		}
		images := []string{testImages[i%(len(testImages)-1)]}
		if side := testImages[i%4]; side != images[0] {
			images = append(images, side)
		}
		return images
	}
	pods, workloads := podRows(), places()
	for i := range pods {
		pods[i].Images = some(i)
		pods[i].Search = strings.ToLower(strings.Join(pods[i].Images, "\n"))
	}
	for i := range 30 {
		of := alike([]string{"alpha", "beta"}[i%2], []string{"shop", "other", "third"}[i%3], 10+i/2, 1)[0]
		workloads = append(workloads, of)
	}
	for i := range workloads {
		workloads[i].Images = some(i + 5)
		workloads[i].Search = strings.ToLower(strings.Join(workloads[i].Images, "\n"))
	}
	workloads[len(workloads)-1].Images = []string{testImages[len(testImages)-1]} // That no pod has.
	return pods, workloads
}

// tally counts images as a page has them, of what is seen.
func tally(pods []projection.PodRow, workloads []projection.Workload, pod func(*projection.PodRow) bool, workload func(*projection.Workload) bool, match func(string) bool) []projection.ImageItem {
	all := map[string]*projection.ImageItem{}
	item := func(image string) *projection.ImageItem {
		if all[image] == nil {
			all[image] = &projection.ImageItem{ImagePosition: projection.ImagePosition{Reference: image}}
		}
		return all[image]
	}
	for i := range pods {
		p := &pods[i]
		for _, image := range p.Images {
			if !pod(p) || !match(image) {
				continue
			}
			of := item(image)
			of.Pods++
			at := slices.IndexFunc(of.Clusters, func(c projection.ImageCluster) bool { return c.Cluster == p.Cluster })
			if at < 0 {
				at = len(of.Clusters)
				of.Clusters = append(of.Clusters, projection.ImageCluster{Instance: p.Instance, Cluster: p.Cluster})
			}
			of.Clusters[at].Pods++
		}
	}
	for i := range workloads {
		for _, image := range workloads[i].Images {
			if workload(&workloads[i]) && match(image) {
				of := item(image)
				of.Workloads, of.First = of.Workloads+1, append(of.First, workloads[i].WorkloadKey)
			}
		}
	}
	var items []projection.ImageItem
	for _, one := range all {
		slices.SortFunc(one.First, func(a, b projection.WorkloadKey) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Instance, b.Instance))
		})
		slices.SortFunc(one.Clusters, func(a, b projection.ImageCluster) int {
			return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Cluster, b.Cluster))
		})
		one.First, one.Clusters = one.First[:min(3, len(one.First))], one.Clusters[:min(2, len(one.Clusters))]
		items = append(items, *one)
	}
	return items
}

// TestSelectImages checks the reach and every filter in every order, in pages of two and of all.
func TestSelectImages(t *testing.T) {
	tests := []struct {
		name      string
		instances []string
		scopes    []projection.Scope
		narrow    func(*projection.ImageQuery)
		filter    projection.ImageFilter
		match     func(string) bool
		pod       func(*projection.PodRow) bool
		workload  func(*projection.Workload) bool
	}{
		{name: "everything", instances: everywhere},
		{name: "nowhere", pod: func(*projection.PodRow) bool { return false }, workload: func(*projection.Workload) bool { return false }},
		{
			name: "an instance", instances: []string{"beta"},
			pod: func(p *projection.PodRow) bool { return p.Instance == "beta" }, workload: func(w *projection.Workload) bool { return w.Instance == "beta" },
		},
		{
			name: "a namespace, where workloads were sent to", scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}},
			pod:      func(p *projection.PodRow) bool { return p.Cluster == "m1" && p.Namespace == "shop" },
			workload: func(w *projection.Workload) bool { return w.Instance == "alpha" && w.Namespace == "shop" },
		},
		{
			name: "an instance and a namespace", instances: []string{"beta"}, scopes: []projection.Scope{{Instance: "alpha", Namespaces: []string{"shop"}}},
			pod: func(p *projection.PodRow) bool {
				return p.Instance == "beta" || p.Cluster == "m1" && p.Namespace == "shop"
			},
			workload: func(w *projection.Workload) bool { return w.Instance == "beta" || w.Namespace == "shop" },
		},
		{
			name: "a member cluster", instances: everywhere,
			narrow: func(q *projection.ImageQuery) {
				q.Pods.Clusters, q.Workloads.ScheduledTo = []string{"m1"}, []string{"m1"}
			},
			pod:      func(p *projection.PodRow) bool { return p.Cluster == "m1" },
			workload: func(w *projection.Workload) bool { return slices.Contains(w.Scheduled, "m1") },
		},
		{name: "a registry", instances: everywhere, filter: projection.ImageFilter{Registry: "registry.example.com"}, match: func(i string) bool { return strings.HasPrefix(i, "registry.example.com/") }},
		{name: "a registry by half", instances: everywhere, filter: projection.ImageFilter{Registry: "registry.example"}, match: func(string) bool { return false }},
		{name: "a path is no registry", instances: everywhere, filter: projection.ImageFilter{Registry: "shop"}, match: func(string) bool { return false }},
		{name: "a registry with a port", instances: everywhere, filter: projection.ImageFilter{Registry: "localhost:5000"}, match: func(i string) bool { return strings.HasPrefix(i, "localhost:5000/") }},
		{
			name: "a repository in any registry", instances: everywhere, filter: projection.ImageFilter{Repository: "shop/w"},
			match: func(i string) bool { return strings.Contains(i, "shop/web") },
		},
		{
			name: "a repository with its registry", instances: everywhere, filter: projection.ImageFilter{Repository: "localhost"},
			match: func(i string) bool { return strings.HasPrefix(i, "localhost") },
		},
		{name: "a repository and the beginning of a tag", instances: everywhere, filter: projection.ImageFilter{Repository: "shop/web:1."}, match: func(i string) bool { return strings.HasSuffix(i, "web:1.2") }},
		{name: "a repository is no pattern", instances: everywhere, filter: projection.ImageFilter{Repository: "a%"}, match: func(i string) bool { return strings.HasPrefix(i, "a%") }},
		{name: "a tag, before a digest too", instances: everywhere, filter: projection.ImageFilter{Tag: "1"}, match: func(i string) bool { return strings.HasSuffix(strings.TrimSuffix(i, "@"+sum), ":1") }},
		{name: "a digest", instances: everywhere, filter: projection.ImageFilter{Digest: sum}, match: func(i string) bool { return strings.HasSuffix(i, sum) }},
		{name: "words", instances: everywhere, filter: projection.ImageFilter{Words: []string{"shop", "1.2"}}, match: func(i string) bool { return strings.HasSuffix(i, "shop/web:1.2") }},
		{
			name: "all together", instances: everywhere, filter: projection.ImageFilter{Registry: "registry.example.com", Repository: "web", Tag: "1", Digest: sum, Words: []string{"w"}},
			match: func(i string) bool { return i == "registry.example.com/web:1@"+sum },
		},
	}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		pods, workloads := runningImages()
		db := filledPods(t, index, pods)
		err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
			return &projection.Writes{Workloads: workloads}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range tests {
			if tt.match == nil {
				tt.match = func(string) bool { return true }
			}
			if tt.pod == nil {
				tt.pod, tt.workload = func(*projection.PodRow) bool { return true }, func(*projection.Workload) bool { return true }
			}
			want := tally(pods, workloads, tt.pod, tt.workload, tt.match)
			for _, order := range []projection.ImageOrder{{}, {Desc: true}, {ByPods: true}, {ByPods: true, Desc: true}} {
				slices.SortFunc(want, func(a, b projection.ImageItem) int {
					c := cmp.Compare(a.Reference, b.Reference)
					if order.ByPods {
						c = cmp.Or(cmp.Compare(a.Pods, b.Pods), c)
					}
					if order.Desc {
						return -c
					}
					return c
				})
				for _, confined := range []bool{false, true} {
					for _, size := range []int{2, 50} {
						q := projection.ImageQuery{
							Workloads: &projection.Query{Instances: tt.instances, Scopes: tt.scopes, Confined: confined}, Pods: &projection.PodQuery{Instances: tt.instances, Scopes: tt.scopes, Confined: confined},
							ImageFilter: tt.filter, Order: order, Limit: size, WithCount: true, MostWorkloads: 3, MostClusters: 2,
						}
						if tt.narrow != nil {
							tt.narrow(&q)
						}
						if diff := gocmp.Diff(want, walkImages(t, db, q, len(want)), cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("%s, confined %t, in order %+v by %d (-want +got):\n%s", tt.name, confined, order, size, diff)
						}
					}
				}
			}
		}
		bare, err := db.SelectImages(t.Context(), &projection.ImageQuery{Workloads: &projection.Query{Instances: everywhere}, Pods: &projection.PodQuery{Instances: everywhere}, Limit: 1})
		if err != nil || bare.Count != nil || len(bare.Items) != 1 || bare.Items[0].First != nil || bare.Items[0].Clusters != nil || !bare.HasNext {
			t.Errorf("got %+v, %v; want an image without what was not asked for", bare, err)
		}
		index.Exec(t, "UPDATE kairship.meta SET pods = ?", projection.Needed)
		if page, err := db.SelectImages(t.Context(), &projection.ImageQuery{Workloads: &projection.Query{}, Pods: &projection.PodQuery{}, Limit: 1}); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("without all pods: got %+v, %v; want %v", page, err, projection.ErrIncomplete)
		}
	})
}

// walkImages reads all pages of images.
func walkImages(t *testing.T, db *projection.DB, q projection.ImageQuery, count int) []projection.ImageItem {
	t.Helper()
	var all []projection.ImageItem
	for {
		page, err := db.SelectImages(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		if page.Count == nil || *page.Count != int64(count) {
			t.Fatalf("the count is %v, want %d", page.Count, count)
		}
		all = append(all, page.Items...)
		if !page.HasNext {
			return all
		}
		q.After = &all[len(all)-1].ImagePosition
	}
}

// TestImagePatterns: filters of workloads and pods find beginnings of images and digests, beside keys.
func TestImagePatterns(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		pods, workloads := runningImages()
		for i := range pods {
			pods[i].ImageKeys = pods[i].Images
		}
		for i := range workloads {
			workloads[i].ImageKeys = workloads[i].Images
		}
		db := filledPods(t, index, pods)
		err := db.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
			return &projection.Writes{Workloads: workloads}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, filter := range [][]string{
			{"web:1"}, {"web*"}, {"registry.example.com/shop/web:1.*"}, {sum}, {"@" + sum}, {"web:1", "localhost/*"}, {"*"}, {"a_b*"}, {"localhost:5000/web:Ü*"}, {sum + "0"}, {"*web"},
		} {
			var wantPods, wantWorkloads int64
			for i := range pods {
				if projection.HasImage(filter, pods[i].Images, pods[i].ImageKeys) {
					wantPods++
				}
			}
			for i := range workloads {
				if projection.HasImage(filter, workloads[i].Images, workloads[i].ImageKeys) {
					wantWorkloads++
				}
			}
			for _, confined := range []bool{false, true} {
				ofPods, err := db.SelectPods(t.Context(), &projection.PodQuery{Instances: everywhere, Images: filter, Confined: confined, Limit: 1, WithCount: true})
				if err != nil {
					t.Fatal(err)
				}
				ofWorkloads, err := db.Select(t.Context(), &projection.Query{Instances: everywhere, Images: filter, Confined: confined, Limit: 1, WithCount: true})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := fmt.Sprint(*ofPods.Count, *ofWorkloads.Count), fmt.Sprint(wantPods, wantWorkloads); got != want {
					t.Errorf("%q, confined %t: %s pods and workloads, want %s", filter, confined, got, want)
				}
			}
		}
		for filter, want := range map[string]bool{"web:1": true, "web": false, "we*": true, "*": true, sum: false} {
			if got := projection.HasImage([]string{filter}, []string{"web:1"}, []string{"web:1"}); got != want {
				t.Errorf("%q is found: %t, want %t", filter, got, want)
			}
		}
	})
}
