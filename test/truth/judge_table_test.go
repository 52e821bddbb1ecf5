package truth

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// The cases are about alpha's Deployment web in m1 and m2, and begin with a history in
// which everything is as it should be from revision 20 on.
var (
	web      = workloadKey{"alpha", kindDeployment, "web"}
	here     = []string{"m1", "m2"}
	atWeb    = objectKey{"alpha", kindDeployment, "web"}
	atPolicy = objectKey{"alpha", kindPolicy, "web"}
	atBound  = objectKey{"alpha", kindBinding, "web-deployment"}
	atM1     = objectKey{"m1", kindDeployment, "web"}
)

const uid = types.UID("template")

// templateOf is the template at a generation.
func templateOf(generation int64, replicas int32, image string) running {
	return running{UID: uid, Claimed: true, Generation: generation, Replicas: replicas, Images: []string{image}}
}

// runsOf is the object of a member, derived from a generation of the template, of which some are ready.
func runsOf(generation int64, replicas, ready int32, image string) running {
	return running{
		Generation: generation, Replicas: replicas, Images: []string{image}, Ready: ready, TemplateUID: uid, TemplateGeneration: generation,
	}
}

func boundTo(replicas, m1, m2 int32) binding {
	return binding{Of: uid, Replicas: replicas, Clusters: map[string]int32{"m1": m1, "m2": m2}, Applied: "both"}
}

// wellSince20 is the history, with more of it.
func wellSince20(more func(add func(key objectKey, revision int64, fact any))) *timeline {
	t := newTimeline()
	add := func(key objectKey, revision int64, fact any) { t.add(key, version{Revision: revision, Fact: fact}) }
	add(atWeb, 10, templateOf(1, 3, "app:1"))
	add(atPolicy, 11, policy{Placement: "both", Divided: true})
	add(atBound, 12, boundTo(3, 1, 2))
	add(atM1, 13, runsOf(1, 1, 1, "app:1"))
	add(objectKey{"m2", kindDeployment, "web"}, 14, runsOf(1, 2, 2, "app:1"))
	for revision, at := range map[int64]objectKey{18: {"m1", kindPod, "a"}, 19: {"m2", kindPod, "b"}, 20: {"m2", kindPod, "c"}} {
		add(at, revision, pod{App: "web", Image: "app:1", Ready: true})
	}
	if more != nil {
		more(add)
	}
	t.seal()
	return t
}

func TestJudge(t *testing.T) {
	scaled := func(add func(objectKey, int64, any)) { // To six, which are two and four; m2 is never ready.
		add(atWeb, 30, templateOf(2, 6, "app:1"))
		add(atBound, 31, boundTo(6, 2, 4))
		add(atM1, 32, runsOf(2, 2, 2, "app:1"))
		add(objectKey{"m1", kindPod, "d"}, 33, pod{App: "web", Image: "app:1", Ready: true})
		add(objectKey{"m2", kindDeployment, "web"}, 34, runsOf(2, 4, 2, "app:1"))
	}
	grown := func(add func(objectKey, int64, any)) { // And then m2 is.
		scaled(add)
		add(objectKey{"m2", kindPod, "e"}, 40, pod{App: "web", Image: "app:1", Ready: true})
		add(objectKey{"m2", kindPod, "f"}, 41, pod{App: "web", Image: "app:1", Ready: true})
		add(objectKey{"m2", kindDeployment, "web"}, 42, runsOf(2, 4, 4, "app:1"))
	}
	three := &counts{Desired: 3, Ready: 3, Placements: map[string]placed{"m1": {Desired: 1, Ready: 1}, "m2": {Desired: 2, Ready: 2}}}
	says := func(after, until, version int64, c *counts) claim {
		return claim{What: healthy, Workload: web, After: after, Until: until, Version: version, Counts: c}
	}
	did := func(after, until, version int64) claim {
		return claim{What: succeeded, Workload: web, After: after, Until: until, Version: version}
	}
	alone := func(after, until int64) claim {
		return claim{What: unmanaged, Workload: web, After: after, Until: until, Version: 10}
	}
	change := func(key objectKey, revision int64, fact any) func(func(objectKey, int64, any)) {
		return func(add func(objectKey, int64, any)) { add(key, revision, fact) }
	}
	for _, tt := range []struct {
		name    string
		history func(add func(objectKey, int64, any))
		claim   claim
		want    bool
		because string
		why     string
	}{
		{"well", nil, says(20, 25, 10, three), true, "", "nothing is wrong at the beginning of the interval"},
		{"becomes well", nil, says(15, 25, 10, three), true, "", "one revision of the interval is enough"},
		{"too early", nil, says(15, 19, 10, three), false, "m2 has 1 pods", "the status of m2 is ahead of its pods until 20, after the interval"},
		{"before scaling", scaled, says(29, 34, 10, three), true, "", "an answer that shows the old version was true until 29"},
		{"after scaling", scaled, says(30, 34, 10, three), false, "the template is at generation 2", "since 30 the template is another one than the answer shows"},
		{"success too early", scaled, says(30, 34, 30, &counts{Desired: 6, Ready: 4, Placements: three.Placements}), false, "m2 has 2 pods", "the template is the one that the answer shows, and m2 has two of four"},
		{"scaled", grown, says(30, 42, 30, nil), true, "", "at 42 all run"},
		{"wrong counts", grown, says(42, 50, 30, three), false, "6 desired and 6 ready", "all run, and these are not the counts"},
		{"an operation too early", scaled, did(30, 34, 30), false, "m2 has 2 pods", "what it wrote does not run"},
		{"an operation", grown, did(30, 42, 30), true, "", "what it wrote runs at 42"},
		{"an operation that was overtaken", grown, did(21, 42, 20), true, "", "something newer than what it wrote runs"},
		{"an operation on what came before", scaled, did(21, 34, 30), false, "at generation 1", "that the version before it ran is not what it was to do"},
		{"no policy", change(atPolicy, 25, nil), says(25, 30, 10, three), false, "no policy", "what no policy claims may run, and is not HEALTHY: nothing will repair it"},
		{"no policy, and that is said", change(atPolicy, 25, nil), alone(25, 30), true, "", "it runs, and no policy claims it"},
		{"a policy that goes, and that is said", change(atPolicy, 25, policy{Placement: "both", Divided: true, Deleting: true}), alone(25, 30), true, "", "a policy that is being deleted claims nothing"},
		{"a policy that Karmada has not followed", change(atWeb, 25, running{UID: uid, Generation: 1, Replicas: 3, Images: []string{"app:1"}}), alone(25, 30), true, "", "a policy claims what Karmada labelled with it"},
		{"a policy, and that is denied", nil, alone(20, 30), false, "a policy claims it", "it is managed all the time"},
		{"another placement", change(atPolicy, 25, policy{Placement: "m1", Divided: true}), says(25, 30, 10, three), false, "another placement", "the scheduler has not followed the policy"},
		{"another image by an override", change(objectKey{"alpha", kindOverride, "web"}, 25, override{Cluster: "m2", Tag: "2"}), says(25, 30, 10, three), false, "m2 has the images [app:1], and has to have [app:2]", "an override policy changes what m2 has to run"},
		{"an override elsewhere", change(objectKey{"alpha", kindOverride, "web"}, 25, override{Cluster: "m9", Tag: "2"}), says(25, 30, 10, three), true, "", "it is about a cluster that the workload is not in"},
		{"replicas by an override", change(objectKey{"alpha", kindOverride, "web"}, 25, override{Cluster: "m1", Replicas: new(int32)}), says(25, 30, 10, three), false, "m1 asks for 1 replicas, and has to for 0", "an override policy changes how many m1 has to run"},
		{"of another template", change(atWeb, 25, running{UID: "other", Generation: 1, Replicas: 3, Images: []string{"app:1"}}), says(25, 30, 10, three), false, "another one", "it was deleted and made again"},
		{"deleted", change(atWeb, 25, nil), says(25, 30, 10, three), false, "no template", "there is nothing that could be healthy"},
		{"being deleted", change(atWeb, 25, running{UID: uid, Generation: 1, Replicas: 3, Images: []string{"app:1"}, Deleting: true}), says(25, 30, 10, three), false, "being deleted", "it is on its way out"},
		{"a status of before", change(atM1, 25, runsOf(1, 1, 0, "app:1")), says(25, 30, 10, three), true, "", "the pods run; the status has not counted them yet"},
		{"a pod of an earlier workload of the name", change(objectKey{"m1", kindPod, "z"}, 25, pod{App: "web", Image: "app:0", Controller: "earlier", Ready: true}), says(25, 30, 10, three), true, "", "what the garbage collector has not removed yet belongs to another Deployment"},
		{"one pod too many", change(objectKey{"m1", kindPod, "z"}, 25, pod{App: "web", Image: "app:1", Ready: true}), says(25, 30, 10, three), false, "m1 has 2 pods", "it belongs to this one"},
		{"a pod that ends", change(objectKey{"m1", kindPod, "a"}, 25, pod{App: "web", Image: "app:1", Ready: true, Deleting: true}), says(25, 30, 10, three), false, "m1 has 0 pods", "a pod that is being deleted does not count"},
		{"a placement too many", nil, says(20, 25, 10, &counts{Desired: 3, Ready: 3, Placements: map[string]placed{"m1": {1, 1}, "m2": {2, 2}, "m3": {}}}), false, "not scheduled to m3", "the answer shows a cluster that it is not scheduled to"},
		{"a placement too few", nil, says(20, 25, 10, &counts{Desired: 3, Ready: 3, Placements: map[string]placed{"m1": {1, 1}}}), false, "no placement in m2", "the answer hides a cluster that it is scheduled to"},
	} {
		explanation := judge(wellSince20(tt.history), here, tt.claim)
		if (explanation == "") != tt.want || !strings.Contains(explanation, tt.because) {
			t.Errorf("%s: %s: want %t because of %q; %s", tt.name, tt.why, tt.want, tt.because, explanation)
		}
	}
}

func TestTimeline(t *testing.T) {
	line, key := newTimeline(), objectKey{"m1", kindDeployment, "web"}
	line.add(key, version{Revision: 5}) // The deletion of what was never seen.
	line.add(key, version{Revision: 10, Fact: 1})
	line.add(key, version{Revision: 10, Fact: 2}) // Known.
	line.add(key, version{Revision: 20, Fact: 3})
	line.add(key, version{Revision: 50})
	for _, tt := range []struct {
		at   int64
		fact any
		why  string
	}{
		{9, nil, "it was not there yet"},
		{10, 1, "it was made at this revision, and a version counts once"},
		{19, 1, "it had not changed yet"},
		{49, 3, "there was no later version"},
		{50, nil, "it was deleted"},
	} {
		if fact := line.at(key, tt.at); fact != tt.fact {
			t.Errorf("at %d: %s: %v", tt.at, tt.why, fact)
		}
	}
}

func TestBegun(t *testing.T) {
	line := newTimeline()
	for revision, fact := range map[int64]any{10: templateOf(1, 3, "app:1"), 20: templateOf(2, 6, "app:1"), 25: templateOf(2, 6, "app:1"), 40: nil} {
		line.versions[atWeb] = append(line.versions[atWeb], version{Revision: revision, Fact: fact})
	}
	slices.SortFunc(line.versions[atWeb], func(a, b version) int { return int(a.Revision - b.Revision) })
	for version, want := range map[int64]int64{10: 10, 20: 20, 25: 20, 40: 40} {
		if got := line.begun(atWeb, version); got != want {
			t.Errorf("version %d has a generation that began at %d, want %d", version, got, want)
		}
	}
}
