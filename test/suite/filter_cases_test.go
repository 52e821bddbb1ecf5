package suite

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/schema"
)

func healthOf(raw json.RawMessage) string {
	var o struct{ Health string }
	if err := json.Unmarshal(raw, &o); err != nil {
		return "unreadable: " + err.Error()
	}
	return o.Health
}

// everything and nothing are what a filter may show.
func everything(item) bool { return true }
func nothing(item) bool    { return false }

// casesOf are the cases of a list's arguments, but for paging and order.
func (w *world) casesOf(list schema.List) []filterCase {
	switch list.Node {
	case "Workload":
		return w.workloadCases(list)
	case "Pod":
		return w.podCases(list)
	case "Instance":
		return w.instanceCases()
	case "Cluster":
		return w.clusterCases()
	case "ClusterNode":
		return w.nodeCases()
	case "MemberCluster":
		return slices.Concat(w.naming(everything, "m3", "suite-"+w.id+"-m-1"), labelCases("parity=odd", "parity", "!parity"), propertyCases(), taintCases())
	case "RoleBinding":
		return roleBindingCases()
	case "Namespace":
		return append(w.naming(everything, w.a, w.id+"-ns-1"), labelCases("zone in (left,right)", "zone=left", "suite="+w.id+",!zone")...)
	case "PropagationPolicy", "OverridePolicy":
		return slices.Concat(w.here(w.naming(w.inHere, "web", "e")), w.here(labelCases("team=left", "team notin (left)")), w.namespaceCases(), w.specCases())
	case "ClusterPropagationPolicy", "ClusterOverridePolicy":
		return append(slices.Concat(w.naming(everything, "suite-"+w.id+"-web", w.id+"-p-1"), labelCases("team=left", "suite="+w.id), w.specCases()),
			filterCase{argument: "filter.namespaces", value: []string{w.a}, match: nothing, why: "what has no namespace is in none"},
			filterCase{argument: "filter.namespaces", value: []string{}, match: nothing, why: "no namespace at all"})
	case "FederatedHPA", "CronFederatedHPA", "MultiClusterService", "FederatedResourceQuota":
		return slices.Concat(w.here(w.naming(w.inHere, "web", "e")), w.here(labelCases("team=left", "team notin (left)")), w.namespaceCases())
	case "WorkloadRebalancer":
		return append(slices.Concat(w.naming(everything, "suite-"+w.id+"-web", w.id+"-p-1"), labelCases("team=left", "suite="+w.id)),
			filterCase{argument: "filter.namespaces", value: []string{w.a}, match: nothing, why: "what has no namespace is in none"})
	case "Event":
		if list.Parent == "Instance" {
			return w.eventCases()
		}
		return []filterCase{{argument: "first", value: 500, match: everything, why: "a workload's own events and no others"}}
	case "Resource":
		if list.Parent == "MemberCluster" {
			return w.memberResourceCases(list)
		}
		if list.Parent == "Query" {
			return w.resourcesEverywhereCases()
		}
		return w.resourceCases()
	}
	return nil
}

// naming are the cases of the filters by name, given a name and a part of one
// that some of the items have. The scope names what is looked at.
func (w *world) naming(scope func(item) bool, name, part string) []filterCase {
	named := func(names ...string) func(item) bool {
		return func(i item) bool { return scope(i) && slices.Contains(names, i.GetName()) }
	}
	containing := func(text string) func(item) bool {
		return func(i item) bool { return scope(i) && strings.Contains(i.GetName(), text) }
	}
	return []filterCase{
		{argument: "filter.name", value: []string{name}, match: named(name), why: "one name"},
		{argument: "filter.name", value: []string{name, "none-such"}, match: named(name), why: "values are joined by OR"},
		{argument: "filter.name", value: []string{}, match: nothing, why: "no name at all"},
		{argument: "filter.name", value: []string{""}, match: nothing, why: "nothing is called nothing"},
		{argument: "filter.name", value: []string{name + ",none-such"}, match: nothing, why: "a comma does not part names"},
		{argument: "filter.name", value: nil, match: scope, why: "null is no filter"},
		{argument: "filter.nameContains", value: part, match: containing(part), why: "a part of the name"},
		{argument: "filter.nameContains", value: strings.ToUpper(part), match: containing(strings.ToUpper(part)), why: "letters are told apart by case"},
		{argument: "filter.nameContains", value: "_", match: nothing, why: "no wildcard of SQL"},
		{argument: "filter.nameContains", value: "%", match: nothing, why: "no wildcard of SQL"},
		{argument: "filter.nameContains", value: part + "'", match: nothing, why: "no end of a text in SQL"},
		{argument: "filter.nameContains", value: part + ",suite", match: nothing, why: "no second condition"},
		{argument: "filter.nameContains", value: "none-such", match: nothing, why: "no name has it"},
	}
}

func labelCases(selectors ...string) []filterCase {
	cases := []filterCase{
		{argument: "filter.labelSelector", value: "", match: everything, why: "an empty selector selects everything"},
		{argument: "filter.labelSelector", value: "suite=none-such", match: nothing, why: "no object has it"},
	}
	for _, s := range selectors {
		cases = append(cases, filterCase{argument: "filter.labelSelector", value: s, match: func(i item) bool { return i.labelled(s) }, why: "Kubernetes' own meaning"})
	}
	return cases
}

// inHere reports whether something is in the namespaces in which filters are tried.
func (w *world) inHere(i item) bool { return i.within(w.suiteNamespaces()...) }

// here confines cases to the namespaces in which filters are tried.
func (w *world) here(cases []filterCase) []filterCase {
	for n, c := range cases {
		cases[n].more = map[string]any{"filter": map[string]any{"namespaces": w.suiteNamespaces()}}
		cases[n].match = func(i item) bool { return w.inHere(i) && c.match(i) }
	}
	return cases
}

func (w *world) namespaceCases() []filterCase {
	return []filterCase{
		{argument: "filter.namespaces", value: []string{w.a}, match: func(i item) bool { return i.within(w.a) }, why: "one namespace"},
		{argument: "filter.namespaces", value: []string{w.b, "none-such"}, match: func(i item) bool { return i.within(w.b) }, why: "values are joined by OR"},
		{argument: "filter.namespaces", value: []string{}, match: nothing, why: "no namespace at all"},
		{argument: "filter.namespaces", value: []string{w.a + "," + w.b}, match: nothing, why: "a comma does not part namespaces"},
	}
}

func (w *world) workloadCases(list schema.List) []filterCase {
	kinds := func(kinds ...string) func(item) bool {
		return func(i item) bool { return slices.Contains(kinds, i.kind) }
	}
	on := func(clusters ...string) func(item) bool {
		return func(i item) bool {
			return slices.ContainsFunc(clusters, func(c string) bool { return slices.Contains(i.clusters, c) })
		}
	}
	claimed := func(namespace, name string) func(item) bool {
		return func(i item) bool { return i.claimedBy(namespace, name) }
	}
	saying := func(words ...string) func(item) bool {
		return func(i item) bool {
			text := i.GetName() + "\n" + i.GetNamespace() + "\n" + strings.ReplaceAll(labels.FormatLabels(i.GetLabels()), ",", "\n") + "\n" + image
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(strings.ToLower(text), word) })
		}
	}
	global := "suite-" + w.id + "-"
	cases := []filterCase{
		{argument: "filter.kinds", value: []string{"DEPLOYMENT"}, match: kinds("DEPLOYMENT"), why: "one kind"},
		{argument: "filter.kinds", value: []string{"JOB", "CRON_JOB"}, match: kinds("JOB", "CRON_JOB"), why: "values are joined by OR"},
		{argument: "filter.kinds", value: []string{"STATEFUL_SET", "DAEMON_SET"}, match: kinds("STATEFUL_SET", "DAEMON_SET"), why: "values are joined by OR"},
		{argument: "filter.kinds", value: []string{}, match: nothing, why: "no kind at all"},
		{argument: "filter.kinds", value: nil, match: everything, why: "null is no filter"},
		{argument: "filter.kinds", value: []string{"CUSTOM"}, match: nothing, why: "no custom workload is here"},
		{argument: "filter.kinds", value: []string{"CUSTOM", "JOB"}, match: kinds("JOB"), why: "values are joined by OR"},
		{argument: "filter.customKinds", value: []string{"Transcoder.media.example.com"}, match: nothing, why: "one custom kind, and no other kind"},
		{argument: "filter.customKinds", value: []string{}, match: nothing, why: "no custom kind at all"},
		{argument: "filter.customKinds", value: nil, match: everything, why: "null is no filter"},

		{argument: "filter.cluster", value: []string{"m1"}, match: on("m1"), why: "one member"},
		{argument: "filter.cluster", value: []string{"m2"}, match: on("m2"), why: "another member"},
		{argument: "filter.cluster", value: []string{"m1", "m2"}, match: on("m1", "m2"), why: "values are joined by OR"},
		{argument: "filter.cluster", value: []string{"none-such"}, match: nothing, why: "nothing is scheduled there"},
		{argument: "filter.cluster", value: []string{}, match: nothing, why: "no member at all"},

		{argument: "filter.drifted", value: false, match: everything, why: "no object was changed in a member"},
		{argument: "filter.drifted", value: true, match: nothing, why: "no object was changed in a member"},
		{argument: "filter.drifted", value: nil, match: everything, why: "null is no filter"},

		{argument: "filter.images", value: []string{image}, match: everything, why: "a whole image"},
		{argument: "filter.images", value: []string{"none-such", strings.TrimSuffix(image, ":1.0.0")}, match: everything, why: "an image of any tag, and values are joined by OR"},
		{argument: "filter.images", value: []string{image + "-alpha", "suite/main:1.0.0"}, match: nothing, why: "a part of an image is another image"},
		{argument: "filter.images", value: []string{"none-such*", strings.TrimSuffix(image, "0") + "*"}, match: everything, why: "an image that begins so"},
		{argument: "filter.images", value: []string{"sha256:" + strings.Repeat("0", 64), "suite/*"}, match: nothing, why: "no such digest, and no such beginning"},
		{argument: "filter.images", value: []string{}, match: nothing, why: "no image at all"},

		{argument: "filter.text", value: "web", match: saying("web"), why: "a word, wherever it is"},
		{argument: "filter.text", value: " WEB  tier=web ", match: saying("web", "tier=web"), why: "words are joined by AND, in capitals or small letters"},
		{argument: "filter.text", value: "suite/main:1", match: everything, why: "a part of an image"},
		{argument: "filter.text", value: w.a, match: saying(w.a), why: "a namespace"},
		{argument: "filter.text", value: "%", match: saying("%"), why: "no wildcard of SQL"},
		{argument: "filter.text", value: "' OR true --", match: saying("'"), why: "no end of a text in SQL"},

		{argument: "filter.policy", value: ref(w.a, "web"), match: claimed(w.a, "web"), why: "a policy with namespace"},
		{argument: "filter.policy", value: ref(w.a, "mix"), match: claimed(w.a, "mix"), why: "a policy that claims several"},
		{argument: "filter.policy", value: ref("", global+"web"), match: claimed("", global+"web"), why: "a cluster policy"},
		{argument: "filter.policy", value: ref("", global+"mix"), match: claimed("", global+"mix"), why: "a cluster policy that claims several"},
		{argument: "filter.policy", value: ref("", "web"), match: nothing, why: "no cluster policy has the name of one with namespace"},
		{argument: "filter.policy", value: ref(w.b, "web"), match: claimed(w.b, "web"), why: "the policy of this name in the other namespace claims nothing"},
	}
	for _, health := range schema.Values(theSchema, "WorkloadHealth") {
		cases = append(cases, filterCase{
			argument: "filter.health", value: []string{health}, match: func(i item) bool { return i.health == health }, why: "one health",
		})
	}
	cases = append(cases,
		filterCase{
			argument: "filter.health", value: []string{"HEALTHY", "DEGRADED"}, why: "values are joined by OR",
			match: func(i item) bool { return i.health == "HEALTHY" || i.health == "DEGRADED" },
		},
		filterCase{argument: "filter.health", value: []string{}, match: nothing, why: "no health at all"})
	cases = append(cases, w.naming(everything, "web", "x-")...)
	cases = append(cases, w.naming(everything, "mix-1", "mix-s")...)
	cases = append(cases, labelCases("tier=web", "tier in (web,db),track!=canary", "track", "!track", "tier notin (web,db)", "tier,track=canary,suite="+w.id)...)
	cases = append(cases, w.instancesCases(list)...)
	cases = w.here(cases)
	combined := func(i item) bool {
		return i.within(w.a) && i.kind == "DEPLOYMENT" && i.labelled("tier=web") && slices.Contains(i.clusters, "m1") && i.health == "HEALTHY"
	}
	return append(append(cases, w.namespaceCases()...), filterCase{
		argument: "filter.health", value: []string{"HEALTHY"}, match: combined, why: "fields are joined by AND",
		more: map[string]any{"filter": map[string]any{
			"namespaces": []string{w.a}, "kinds": []string{"DEPLOYMENT"}, "labelSelector": "tier=web", "cluster": []string{"m1"},
		}},
	})
}

func (w *world) instancesCases(list schema.List) []filterCase {
	from := func(names ...string) func(item) bool {
		return func(i item) bool { return slices.Contains(names, i.instance) }
	}
	cases := []filterCase{{argument: "filter.instances", value: []string{"alpha"}, match: from("alpha"), why: "one instance"}}
	if list.Parent != "Query" {
		return cases
	}
	return append(cases,
		filterCase{argument: "filter.instances", value: []string{"beta"}, match: from("beta"), why: "another instance"},
		filterCase{argument: "filter.instances", value: []string{"alpha", "beta"}, match: from("alpha", "beta"), why: "values are joined by OR"},
		filterCase{argument: "filter.instances", value: []string{"none-such"}, match: nothing, why: "one that does not exist looks like one that is empty"},
		filterCase{argument: "filter.instances", value: []string{}, match: nothing, why: "no instance at all"},
	)
}

// ref names a policy.
func ref(namespace, name string) map[string]any {
	if namespace == "" {
		return map[string]any{"name": name}
	}
	return map[string]any{"namespace": namespace, "name": name}
}

func (w *world) instanceCases() []filterCase {
	cases := append(w.naming(everything, "alpha", "suite-"+w.id+"-i-1"), labelCases("env=prod", "env in (prod,stage)", "!env")...)
	for enum, mode := range map[string]kairshipv1alpha1.InstanceMode{
		"EXTERNAL": kairshipv1alpha1.InstanceModeExternal, "MANAGED": kairshipv1alpha1.InstanceModeManaged,
	} {
		cases = append(cases, filterCase{
			argument: "filter.mode", value: []string{enum}, why: "one mode",
			match: func(i item) bool { return i.Object.(*kairshipv1alpha1.Instance).Spec.Mode == mode },
		})
	}
	for enum, state := range map[string]kairshipv1alpha1.InstanceState{
		"IN_PROCESS": kairshipv1alpha1.InstanceStateInProcess, "RUNNING": kairshipv1alpha1.InstanceStateRunning,
		"TERMINATING": kairshipv1alpha1.InstanceStateTerminating, "UNAVAILABLE": kairshipv1alpha1.InstanceStateUnavailable,
		"UNKNOWN": kairshipv1alpha1.InstanceStateUnknown,
	} {
		cases = append(cases, filterCase{
			argument: "filter.state", value: []string{enum}, why: "one state",
			match: func(i item) bool { return stateOf(i.Object.(*kairshipv1alpha1.Instance)) == state },
		})
	}
	return append(cases,
		filterCase{argument: "filter.mode", value: []string{}, match: nothing, why: "no mode at all"},
		filterCase{argument: "filter.state", value: []string{}, match: nothing, why: "no state at all"},
		filterCase{
			argument: "filter.state", value: []string{"RUNNING", "UNAVAILABLE"}, why: "values are joined by OR",
			match: func(i item) bool {
				s := stateOf(i.Object.(*kairshipv1alpha1.Instance))
				return s == kairshipv1alpha1.InstanceStateRunning || s == kairshipv1alpha1.InstanceStateUnavailable
			},
		})
}

// stateOf is the state that an instance must be shown in.
func stateOf(i *kairshipv1alpha1.Instance) kairshipv1alpha1.InstanceState {
	if i.DeletionTimestamp != nil {
		return kairshipv1alpha1.InstanceStateTerminating
	}
	return i.Status.State
}

func (w *world) clusterCases() []filterCase {
	of := func(i item) *kairshipv1alpha1.ClusterSpec { return &i.Object.(*kairshipv1alpha1.Cluster).Spec }
	shown := func(i item) bool { return !of(i).Hidden }
	joined := func(i item, instance string) bool {
		if r := of(i).InstanceRef; r != nil {
			return r.Name == instance
		}
		return instance == ""
	}
	cases := slices.Concat(w.naming(everything, "m1", "suite-"+w.id+"-c-0"), labelCases("parity=even", "parity", "!parity"), propertyCases())
	for n, c := range cases {
		cases[n].match = func(i item) bool { return shown(i) && c.match(i) }
	}
	hiddenToo := map[string]any{"filter": map[string]any{"includeHidden": true}}
	return append(cases, []filterCase{
		{argument: "filter.includeHidden", value: true, match: everything, why: "the hidden ones too"},
		{argument: "filter.includeHidden", value: false, match: shown, why: "without the hidden ones"},
		{argument: "filter.type", value: []string{"PHYSICAL"}, match: func(i item) bool { return shown(i) && of(i).Type == kairshipv1alpha1.ClusterTypePhysical }, why: "one type"},
		{argument: "filter.type", value: []string{"VIRTUAL"}, more: hiddenToo, match: func(i item) bool { return of(i).Type == kairshipv1alpha1.ClusterTypeVirtual }, why: "the virtual ones are hidden"},
		{argument: "filter.type", value: []string{"VIRTUAL"}, match: nothing, why: "hidden ones are not shown unless asked for"},
		{argument: "filter.type", value: []string{"VIRTUAL", "PHYSICAL"}, more: hiddenToo, match: everything, why: "values are joined by OR"},
		{argument: "filter.type", value: []string{}, match: nothing, why: "no type at all"},
		{argument: "filter.instances", value: []string{"alpha"}, match: func(i item) bool { return shown(i) && joined(i, "alpha") }, why: "joined to one instance"},
		{argument: "filter.instances", value: []string{"alpha"}, more: hiddenToo, match: func(i item) bool { return joined(i, "alpha") }, why: "its virtual cluster is hidden"},
		{argument: "filter.instances", value: []string{"beta", ""}, match: func(i item) bool { return shown(i) && (joined(i, "beta") || joined(i, "")) }, why: "an empty text stands for the free ones"},
		{argument: "filter.instances", value: []string{}, match: nothing, why: "no instance at all"},
	}...)
}

func (w *world) eventCases() []filterCase {
	field := func(argument, value string, of func(*corev1.Event) string) filterCase {
		return filterCase{
			argument: "filter." + argument, value: value, why: "one value of a field",
			match: func(i item) bool { return of(i.Object.(*corev1.Event)) == value },
		}
	}
	typ := func(e *corev1.Event) string { return e.Type }
	reason := func(e *corev1.Event) string { return e.Reason }
	kind := func(e *corev1.Event) string { return e.InvolvedObject.Kind }
	name := func(e *corev1.Event) string { return e.InvolvedObject.Name }
	cases := w.here([]filterCase{
		field("type", "Warning", typ), field("type", "Normal", typ), field("type", "Other", typ),
		field("reason", "Suited", reason), field("reason", "Unsuited", reason), field("reason", "Suited,type=Warning", reason),
		field("reason", "Suited' OR '1'='1", reason), field("reason", `Suited"`, reason), field("reason", "", reason),
		field("involvedKind", "StatefulSet", kind), field("involvedKind", "Deployment", kind),
		field("involvedName", "web", name), field("involvedName", "web-canary", name), field("involvedName", "we", name),
		{
			argument: "filter.type", value: "Warning", why: "fields are joined by AND",
			match: func(i item) bool { e := i.Object.(*corev1.Event); return e.Type == "Warning" && e.Reason == "Suited" },
		},
	})
	set(cases[len(cases)-1].more, "filter.reason", "Suited")
	return append(cases, w.namespaceCases()...)
}

func (w *world) resourceCases() []filterCase {
	configMaps := func(cases []filterCase) []filterCase {
		for n := range cases {
			more := map[string]any{"version": "v1", "resource": "configmaps"}
			for k, v := range cases[n].more {
				more[k] = v
			}
			cases[n].more = more
		}
		return cases
	}
	in := func(i item) bool { return i.within(w.a) }
	cases := append(w.here(w.naming(w.inHere, "one", "n")), w.here(labelCases("team=left", "team notin (left)"))...)
	cases = append(cases, w.namespaceCases()...)
	cases = append(cases,
		filterCase{argument: "namespace", value: w.a, match: in, why: "one namespace"},
		filterCase{argument: "namespace", value: "none-such", match: nothing, why: "no such namespace"},
		filterCase{argument: "namespace", value: "", match: nothing, why: "every ConfigMap has a namespace"},
		filterCase{argument: "namespace", value: nil, match: everything, why: "null is no filter"},
		filterCase{argument: "group", value: "", match: everything, why: "the core group"},
		filterCase{argument: "group", value: "apps", match: nothing, refused: "resource", why: "no group has a kind of another"},
		filterCase{argument: "version", value: "v1", match: everything, why: "the version that is collected"},
		filterCase{argument: "version", value: "v2", match: nothing, refused: "version", why: "a version that is not served"},
		filterCase{argument: "resource", value: "configmaps", match: everything, why: "the plural name of the kind"},
		filterCase{argument: "resource", value: "nonesuch", match: nothing, refused: "resource", why: "a kind that is not served"},
		filterCase{argument: "cluster", value: nil, match: everything, why: "those of the instance itself"},
		filterCase{argument: "cluster", value: "m1", match: nothing, refused: "resource", why: "no ConfigMaps are collected of members"},
	)
	return configMaps(append(cases, ownerCases()...))
}

// resourcesEverywhereCases are those of the list of all instances, which has no arguments for one namespace
// or member cluster, and one for instances.
func (w *world) resourcesEverywhereCases() []filterCase {
	cases := slices.DeleteFunc(w.resourceCases(), func(c filterCase) bool { return c.argument == "namespace" || c.argument == "cluster" })
	of := func(instance string) func(item) bool {
		return func(i item) bool { return strings.HasPrefix(i.name, instance+"/") }
	}
	for _, c := range []filterCase{
		{argument: "instances", value: []string{"alpha"}, match: of("alpha"), why: "one instance"},
		{argument: "instances", value: []string{"beta", "none-such"}, match: of("beta"), why: "another one, and one that does not exist"},
		{argument: "instances", value: []string{"alpha", "beta"}, match: everything, why: "values are joined by OR"},
		{argument: "instances", value: []string{}, match: nothing, why: "no instance at all"},
		{argument: "instances", value: nil, match: everything, why: "null is no filter"},
	} {
		c.more = map[string]any{"version": "v1", "resource": "configmaps"}
		cases = append(cases, c)
	}
	return cases
}

// ownerCases are those of lists of objects that nothing made; TestOwnerFindsWhatAnObjectMade has the others.
func ownerCases() []filterCase {
	return []filterCase{
		{argument: "filter.owner", value: nil, match: everything, why: "null is no filter"},
		{argument: "filter.owner", value: []string{}, match: nothing, why: "no owner at all"},
		{argument: "filter.owner", value: []string{""}, match: nothing, why: "to have no owner is not to have an empty one"},
		{argument: "filter.owner", value: []string{"none-such"}, match: nothing, why: "no such owner"},
	}
}
