package clusterimport

import (
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func joined(instance, name, id, owner string) member {
	m := member{instance: instance, name: name, id: id, uid: instance + name}
	if owner != "" {
		m.managed, m.owner, m.global, m.cluster, m.madeFor = true, owner, "here", name, instance
	}
	return m
}

func TestWhoJoinedACluster(t *testing.T) {
	r := &memberCache{}
	now := time.Now()
	r.put("alpha", now, []member{joined("alpha", "m1", "id-1", "uid-1"), joined("alpha", "by-hand", "id-9", "")})
	r.put("beta", now, []member{joined("beta", "m2", "id-2", "uid-2"), joined("beta", "hidden", "", "")})
	for _, c := range []struct {
		reason   string
		as       ownerLabels
		name, id string
		wants    string
		want     string
	}{
		{"its own membership is no other's", mine, "m1", "id-1", "", ""},
		{"another entry for the same cluster", ownerLabels{cluster: "twin", uid: "uid-7", global: "here"}, "twin", "id-1", "", v1alpha1.ReasonJoinedElsewhere},
		{"joined by hand, and free here", ownerLabels{cluster: "m9", uid: "uid-9", global: "here"}, "m9", "id-9", "", v1alpha1.ReasonForeign},
		{"joined by hand where it wants to be", ownerLabels{cluster: "m9", uid: "uid-9", global: "here"}, "m9", "id-9", "alpha", v1alpha1.ReasonForeign},
		{"joined by hand to another one", ownerLabels{cluster: "m9", uid: "uid-9", global: "here"}, "m9", "id-9", "beta", v1alpha1.ReasonJoinedElsewhere},
		{"a name counts only while it is not known which cluster it is", ownerLabels{cluster: "by-hand", uid: "uid-8", global: "here"}, "by-hand", "id-8", "", ""},
		{"an instance that does not know either", ownerLabels{cluster: "hidden", uid: "uid-8", global: "here"}, "hidden", "id-8", "", v1alpha1.ReasonForeign},
		{"another Kairship's", ownerLabels{cluster: "m1", uid: "uid-1", global: "there"}, "m1", "id-1", "", v1alpha1.ReasonJoinedElsewhere},
		{"it is free", ownerLabels{cluster: "m5", uid: "uid-5", global: "here"}, "m5", "id-5", "", ""},
	} {
		got := ""
		if found := r.joinedByOthers(c.as, c.name, c.id); found != nil {
			got = found.condition(c.wants).Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestMemberCacheReportsChanges(t *testing.T) {
	r := &memberCache{}
	now := time.Now()
	first := joined("alpha", "m1", "id-1", "uid-1")
	other := joined("alpha", "m2", "id-2", "uid-2")
	if got := r.put("alpha", now, []member{first, other}); len(got) != 2 {
		t.Errorf("two are new: %v", got)
	}
	if got := r.put("alpha", now, []member{first, other}); len(got) != 0 {
		t.Errorf("nothing changed: %v", got)
	}
	first.ready = true
	if got := r.put("alpha", now, []member{first}); len(got) != 2 {
		t.Errorf("one is ready now and one gone: %v", got)
	}
	if got := r.forget("alpha"); len(got) != 1 {
		t.Errorf("its members go with an instance: %v", got)
	}
}

func TestMemberCacheForgetsRemovedMembers(t *testing.T) {
	r := &memberCache{}
	m1 := joined("alpha", "m1", "id-1", "uid-1")
	begun := time.Now()
	// The same control plane may be registered twice.
	r.put("alpha", begun, []member{m1})
	r.put("again", begun, []member{m1})
	r.drop("uid-1")
	if r.ours(mine) != nil {
		t.Error("it left, and is still known")
	}
	r.put("alpha", begun, []member{m1})
	if r.ours(mine) != nil {
		t.Error("a look that began before brought it back")
	}
	r.put("alpha", time.Now().Add(time.Second), []member{m1})
	if r.ours(mine) == nil {
		t.Error("it is there after all, and not known")
	}
}

func TestMemberCacheIsCompleteOnceAllWereTried(t *testing.T) {
	r := &memberCache{}
	r.put("alpha", time.Now(), nil)
	if r.knows([]string{"alpha", "beta"}) {
		t.Error("beta was not looked at")
	}
	r.tried("beta")
	if !r.knows([]string{"alpha", "beta"}) {
		t.Error("beta was tried in vain, and must not hold up the others")
	}
}
