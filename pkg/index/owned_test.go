package index_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// owned is a row that another one owns as its controller.
func owned(r indextest.Row, owner string) indextest.Row {
	r.Owner = owner
	return r
}

func withUID(r indextest.Row, uid string) indextest.Row {
	r.UID = uid
	return r
}

func TestOwned(t *testing.T) {
	pod := func(cluster, name, owner string) indextest.Row {
		return owned(row(index.Pods, cluster, "shop", name), owner)
	}
	x := indextest.New(t,
		withUID(row(index.Deployments, "m1", "shop", "web"), "web"),
		owned(withUID(row(index.ReplicaSets, "m1", "shop", "web-1"), "web-1"), "web"),
		owned(withUID(row(index.ReplicaSets, "m1", "shop", "web-2"), "web-2"), "web"),
		pod("m1", "web-2-b", "web-2"), pod("m1", "web-1-a", "web-1"), pod("m1", "web-1-c", "web-1"),
		// The same UIDs in another cluster, as of a restored backup.
		withUID(row(index.Deployments, "m2", "shop", "web"), "web"),
		owned(withUID(row(index.ReplicaSets, "m2", "shop", "web-1"), "web-1"), "web"),
		pod("m2", "web-1-z", "web-1"),
		withUID(row(index.StatefulSets, "m1", "shop", "db"), "db"), pod("m1", "db-0", "db"),
		withUID(row(index.CronJobs, "m1", "shop", "report"), "report"),
		owned(withUID(row(index.Jobs, "m1", "shop", "report-1"), "report-1"), "report"),
		pod("m1", "report-1-x", "report-1"),
		withUID(row(index.Jobs, "m1", "shop", "migrate"), "migrate"), pod("m1", "migrate-x", "migrate"),
		withUID(row(index.DaemonSets, "m1", "shop", "idle"), "idle"),
		pod("m1", "foreign", "somebody"), row(index.Pods, "m1", "shop", "alone"),
		// Two steps down is too far: a ReplicaSet of a ReplicaSet.
		owned(withUID(row(index.ReplicaSets, "m1", "shop", "deep"), "deep"), "web-1"), pod("m1", "deep-x", "deep"),
		// A config map of the Deployment is no pod.
		owned(row(index.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}, "m1", "shop", "cm"), "web"),
		owned(withUID(row(index.ReplicaSets, "m1", "ops", "far"), "far"), "far-away"), owned(row(index.Pods, "m1", "ops", "far-x"), "far"),
	)
	via := []index.Type{index.ReplicaSets, index.Jobs}
	m1 := func(uid types.UID) index.Owner { return index.Owner{Cluster: "m1", UID: uid} }
	m2 := func(uid types.UID) index.Owner { return index.Owner{Cluster: "m2", UID: uid} }
	for _, tt := range []struct {
		name   string
		via    []index.Type
		owners []index.Owner
		want   map[index.Owner][]string
		why    string
	}{
		{"deployment", via, []index.Owner{m1("web")}, map[index.Owner][]string{m1("web"): {"web-1-a", "web-1-c", "web-2-b"}}, "through its ReplicaSets, by name"},
		{"stateful set", via, []index.Owner{m1("db")}, map[index.Owner][]string{m1("db"): {"db-0"}}, "directly"},
		{"cron job and job", via, []index.Owner{m1("report"), m1("migrate")}, map[index.Owner][]string{m1("report"): {"report-1-x"}, m1("migrate"): {"migrate-x"}}, "through its Jobs, and directly"},
		{"two clusters", via, []index.Owner{m1("web"), m2("web")}, map[index.Owner][]string{m1("web"): {"web-1-a", "web-1-c", "web-2-b"}, m2("web"): {"web-1-z"}}, "a UID means something in its own cluster"},
		{"a UID of another cluster", via, []index.Owner{m2("db"), m1("db")}, map[index.Owner][]string{m1("db"): {"db-0"}}, "m2 has no db"},
		{"none", via, []index.Owner{m1("idle"), m1("nobody")}, map[index.Owner][]string{}, "no pods, no entry"},
		{"directly alone", nil, []index.Owner{m1("web"), m1("db")}, map[index.Owner][]string{m1("db"): {"db-0"}}, "no step between was asked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, recorder := requeststats.With(t.Context())
			got, err := clientOf(t, x).Owned(ctx, index.OwnedQuery{Type: index.Pods, Owners: tt.owners, Via: tt.via})
			if err != nil {
				t.Fatal(err)
			}
			names := map[index.Owner][]string{}
			for owner, objects := range got {
				for _, o := range objects {
					names[owner] = append(names[owner], o.Meta.Name)
				}
			}
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, diff)
			}
			if n := recorder.Requests(requeststats.Index); n != 1 {
				t.Errorf("it cost %d requests, want 1", n)
			}
		})
	}
}

func TestOwnedStatement(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	owners := []index.Owner{{Cluster: "m2", UID: "b"}, {Cluster: "m1", UID: "a"}, {Cluster: "m2", UID: "c"}}
	for _, tt := range []struct {
		via       []index.Type
		resources string
		statement string
	}{
		{nil, "/v1/pods", "cluster IN ? AND owner_uid IN ?"},
		{
			[]index.Type{index.ReplicaSets}, "/v1/pods,apps/v1/replicasets",
			"cluster IN ? AND (owner_uid IN ? OR owner_uid IN (SELECT m.uid FROM resources m WHERE m.cluster IN ? AND m.owner_uid IN ?))",
		},
	} {
		x.Forget()
		if _, err := c.Owned(t.Context(), index.OwnedQuery{Type: index.Pods, Owners: owners, Via: tt.via}); err != nil {
			t.Fatal(err)
		}
		sent := x.Requests()[0]
		if diff := cmp.Diff([]string{tt.resources, tt.statement}, []string{sent.Get("resources"), sent.Get("whereSQLStatement")}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// The pods of many objects in many members are asked for in parts, each of which
// API servers accept.
func TestOwnedInParts(t *testing.T) {
	var rows []indextest.Row
	var owners []index.Owner
	for i := range 25_000 {
		cluster, uid := fmt.Sprintf("member-%02d", i%40), fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		owners = append(owners, index.Owner{Cluster: cluster, UID: types.UID(uid)})
		if i%100 == 0 {
			set := owned(withUID(row(index.ReplicaSets, cluster, "shop", fmt.Sprintf("rs-%d", i)), "rs-"+uid), uid)
			rows = append(rows, set, owned(row(index.Pods, cluster, "shop", fmt.Sprintf("pod-%d", i)), "rs-"+uid))
		}
	}
	x := indextest.New(t, rows...)
	got, err := clientOf(t, x).Owned(t.Context(), index.OwnedQuery{Type: index.Pods, Owners: owners, Via: []index.Type{index.ReplicaSets, index.Jobs}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 250 {
		t.Errorf("found the pods of %d owners, want 250", len(got))
	}
	if most := longest(x.Requests()); most > 1<<20*3/4 {
		t.Errorf("a request of %d bytes is too near what API servers take", most)
	}
	if !slices.ContainsFunc(owners, func(o index.Owner) bool { return len(got[o]) == 1 && got[o][0].Cluster == o.Cluster }) {
		t.Error("no pod is in the cluster of its owner")
	}
}
