package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// workloadKey names a workload: an instance and an object in it.
type workloadKey struct{ Instance, Kind, Name string }

func (k workloadKey) String() string { return k.Instance + " " + k.Kind + " " + k.Name }

// What a claim says.
const (
	healthy   = "HEALTHY"
	succeeded = "SUCCEEDED"
	unmanaged = "UNMANAGED"
)

// claim is that a workload ran as it should at some revision of an interval; of
// UNMANAGED, that no policy claimed it.
type claim struct {
	// By says which answer made it, for a person, with its step.
	By string
	// What it says: HEALTHY, SUCCEEDED or UNMANAGED.
	What     string
	Workload workloadKey
	// After and Until bound the revisions, both included.
	After, Until int64
	// Version is a revision at which the template was what the claim is about: of SUCCEEDED
	// the one that was written, else the one that the answer shows.
	Version int64
	// Counts are what a HEALTHY says beside it; nil for nothing.
	Counts *counts
	// OverridesSince is set where each cluster may still be as any override policy since then asked for.
	OverridesSince int64
}

// counts are the replicas that an answer shows.
type counts struct {
	Desired, Ready int32
	// Placements are those that are scheduled, by cluster.
	Placements map[string]placed
}

type placed struct{ Desired, Ready int32 }

// judge decides whether a claim was true at some revision of its interval. What it
// returns is empty then; else it says why it was false at each revision at which something
// changed.
func judge(t *timeline, members []string, c claim) (explanation string) {
	objects, pods := concerned(c.Workload, members)
	moments := []int64{c.After}
	for _, key := range objects {
		moments = append(moments, t.changes(key, c.After, c.Until)...)
	}
	for _, key := range pods {
		moments = append(moments, t.podChanges(key, c.After, c.Until)...)
	}
	slices.Sort(moments)
	var why []string
	for _, at := range slices.Compact(moments) {
		m := moment{timeline: t, at: at}
		m.judge(c)
		if len(m.wrong) == 0 {
			return ""
		}
		why = append(why, fmt.Sprintf("  at %d: %s", at, strings.Join(m.wrong, "; ")))
	}
	const most = 8
	if len(why) > most {
		why = append(append(why[:most/2:most/2], "  ..."), why[len(why)-most/2:]...)
	}
	shown := ""
	if c.Counts != nil {
		shown = fmt.Sprintf(" %+v", *c.Counts)
	}
	return fmt.Sprintf("%s: %s of %s at version %d%s, in revisions %d to %d\n%s\n timeline:\n%s", c.By, c.What, c.Workload, c.Version, shown,
		c.After, c.Until, strings.Join(why, "\n"), t.excerpt(objects, pods, c.After, c.Until))
}

// concerned are the objects and pods that a workload's state depends on. Its policies
// have its name, as everything that the test makes.
func concerned(w workloadKey, members []string) (objects []objectKey, pods []podsKey) {
	objects = []objectKey{
		{w.Instance, w.Kind, w.Name}, {w.Instance, kindPolicy, w.Name}, {w.Instance, kindOverride, w.Name}, {w.Instance, kindBinding, bindingName(w)},
	}
	for _, member := range members {
		objects = append(objects, objectKey{member, w.Kind, w.Name})
		pods = append(pods, podsKey{member, w.Name})
	}
	return objects, pods
}

func bindingName(w workloadKey) string { return w.Name + "-" + strings.ToLower(w.Kind) }

// moment is one revision, and what about a claim is wrong at it.
type moment struct {
	timeline *timeline
	at       int64
	wrong    []string
}

func (m *moment) wrongf(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// fact reads an object; ok is false when there is none.
func fact[T any](m *moment, key objectKey) (of T, ok bool) {
	of, ok = m.timeline.at(key, m.at).(T)
	return of, ok
}

func (m *moment) judge(c claim) {
	w := c.Workload
	template, ok := fact[running](m, objectKey{w.Instance, w.Kind, w.Name})
	switch {
	case !ok:
		m.wrongf("there is no template")
		return
	case template.Deleting:
		m.wrongf("the template is being deleted")
	}
	m.version(c, template)
	p, ok := fact[policy](m, objectKey{w.Instance, kindPolicy, w.Name})
	managed := ok && !p.Deleting
	switch {
	case c.What == unmanaged && managed && template.Claimed:
		m.wrongf("a policy claims it")
		return
	case c.What == unmanaged:
		return
	case !managed:
		m.wrongf("no policy claims it")
		return
	}
	b, ok := fact[binding](m, objectKey{w.Instance, kindBinding, bindingName(w)})
	if !ok || b.Deleting || b.Of != template.UID {
		m.wrongf("it has no binding")
		return
	}
	m.scheduled(w, template, p, b)
	overrides := m.overrides(c)
	var desired, ready int32
	for _, cluster := range slices.Sorted(maps.Keys(b.Clusters)) {
		object := m.runsAny(w, cluster, overrides, func(o override) wanted { return expected(w.Kind, template, p, b, o, cluster) }, template)
		desired, ready = desired+object.Replicas, ready+object.Ready
		if c.Counts != nil {
			m.placed(c.Counts, cluster, object)
		}
	}
	if c.Counts == nil {
		return
	}
	if c.Counts.Desired != desired || c.Counts.Ready != ready {
		m.wrongf("the members have %d desired and %d ready", desired, ready)
	}
	for _, cluster := range slices.Sorted(maps.Keys(c.Counts.Placements)) {
		if _, ok := b.Clusters[cluster]; !ok {
			m.wrongf("it is not scheduled to %s", cluster)
		}
	}
}

// overrides are the override policies that a claim may be about, the latest first.
func (m *moment) overrides(c claim) []override {
	key := objectKey{c.Workload.Instance, kindOverride, c.Workload.Name}
	latest, _ := fact[override](m, key)
	all := []override{latest}
	if c.OverridesSince == 0 {
		return all
	}
	for _, at := range append(m.timeline.changes(key, c.OverridesSince, m.at), c.OverridesSince) {
		earlier, _ := m.timeline.at(key, at).(override)
		all = append(all, earlier)
	}
	return all
}

// runsAny is runs for the first of some override policies that the member fits, and for the latest where it fits none.
func (m *moment) runsAny(w workloadKey, cluster string, overrides []override, want func(override) wanted, template running) running {
	for _, o := range overrides {
		tried := moment{timeline: m.timeline, at: m.at}
		if object := tried.runs(w, cluster, want(o), template); len(tried.wrong) == 0 {
			return object
		}
	}
	return m.runs(w, cluster, want(overrides[0]), template)
}

// version checks which version of the template a claim is about.
func (m *moment) version(c claim, template running) {
	about, ok := m.timeline.at(objectKey{c.Workload.Instance, c.Workload.Kind, c.Workload.Name}, c.Version).(running)
	switch {
	case !ok:
		m.wrongf("at version %d there was no template", c.Version)
	case about.UID != template.UID && c.What != succeeded:
		m.wrongf("the template is another one than at version %d", c.Version)
	case about.UID == template.UID && template.Generation < about.Generation,
		template.Generation != about.Generation && c.What != succeeded:
		m.wrongf("the template is at generation %d, and at version %d it was at %d", template.Generation, c.Version, about.Generation)
	}
}

// scheduled checks that the scheduler's result is of the template and the policy as they are.
func (m *moment) scheduled(w workloadKey, template running, p policy, b binding) {
	var sum int32
	for _, replicas := range b.Clusters {
		sum += replicas
	}
	switch {
	case len(b.Clusters) == 0:
		m.wrongf("it is scheduled nowhere")
	case b.Applied != p.Placement:
		m.wrongf("it is scheduled by another placement than the policy's")
	case b.Unscheduled:
		m.wrongf("its latest change could not be scheduled")
	case w.Kind != kindDaemonSet && b.Replicas != template.Replicas:
		m.wrongf("the binding asks for %d replicas and the template for %d", b.Replicas, template.Replicas)
	case w.Kind != kindDaemonSet && p.Divided && sum != template.Replicas:
		m.wrongf("%d replicas are assigned, and the template asks for %d", sum, template.Replicas)
	}
}

// wanted is what a member has to run.
type wanted struct {
	// Replicas is nil where the member decides.
	Replicas *int32
	Images   []string
}

// expected is what the template, the scheduler and the override policy ask of a member.
func expected(kind string, template running, p policy, b binding, o override, cluster string) wanted {
	want := wanted{Images: slices.Clone(template.Images)}
	if kind != kindDaemonSet {
		replicas := template.Replicas
		if p.Divided {
			replicas = b.Clusters[cluster]
		}
		want.Replicas = &replicas
	}
	if o.Cluster != cluster {
		return want
	}
	if o.Replicas != nil && want.Replicas != nil {
		want.Replicas = o.Replicas
	}
	if o.Tag != "" {
		for i, image := range want.Images {
			name, _, _ := strings.Cut(image, ":")
			want.Images[i] = name + ":" + o.Tag
		}
	}
	return want
}

// runs checks that a member runs what it has to, and gives its object. The pods say what
// runs. The counts in the object's status are those of pods at an earlier moment; the
// ready pods stand in for them in what is returned.
func (m *moment) runs(w workloadKey, cluster string, want wanted, template running) running {
	object, ok := fact[running](m, objectKey{cluster, w.Kind, w.Name})
	if !ok {
		m.wrongf("%s has no object", cluster)
		return object
	}
	pods := m.timeline.podsAt(podsKey{cluster, w.Name}, m.at)[object.UID]
	object.Ready = 0
	for _, ready := range pods.Ready {
		object.Ready += ready
	}
	switch {
	case object.Deleting || object.TemplateUID != template.UID:
		m.wrongf("%s has an object that is not of this template, or is being deleted", cluster)
	case object.TemplateGeneration != template.Generation:
		m.wrongf("%s has generation %d of the template, which is at %d", cluster, object.TemplateGeneration, template.Generation)
	case want.Replicas != nil && object.Replicas != *want.Replicas:
		m.wrongf("%s asks for %d replicas, and has to for %d", cluster, object.Replicas, *want.Replicas)
	case !slices.Equal(object.Images, want.Images):
		m.wrongf("%s has the images %v, and has to have %v", cluster, object.Images, want.Images)
	case pods.All != object.Replicas || pods.Ready[want.Images[0]] != object.Replicas:
		m.wrongf("%s has %d pods, ready ones by image %v; they have to be %d", cluster, pods.All, pods.Ready, object.Replicas)
	}
	return object
}

// placed checks what an answer shows of a cluster.
func (m *moment) placed(c *counts, cluster string, object running) {
	shown, ok := c.Placements[cluster]
	switch {
	case !ok:
		m.wrongf("the answer has no placement in %s", cluster)
	case shown.Desired != object.Replicas || shown.Ready != object.Ready:
		m.wrongf("%s has %d desired and %d ready", cluster, object.Replicas, object.Ready)
	}
}
