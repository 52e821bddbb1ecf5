package projection

import (
	"slices"
	"strconv"
	"strings"
)

// HistoryChange is what changed.
type HistoryChange string

// The changes.
const (
	// Created means that an object was created while Kairship observed its instance.
	Created HistoryChange = "CREATED"
	// Disappeared means that the index has an object no more: it was deleted, or is not collected now.
	Disappeared HistoryChange = "DISAPPEARED"
	// HealthChanged, of a workload, is about all of it or about one member cluster.
	HealthChanged HistoryChange = "HEALTH"
	// ReplicasChanged is about the wanted replicas of a workload or of one member cluster.
	ReplicasChanged HistoryChange = "REPLICAS"
	// ImagesChanged is about the images of a workload.
	ImagesChanged HistoryChange = "IMAGES"
	// PlacementChanged is about one member cluster of a workload: SCHEDULED, EVICTING, LEAVING or nothing.
	PlacementChanged HistoryChange = "PLACEMENT"
	// PolicyChanged is about the policy that claims a workload.
	PolicyChanged HistoryChange = "POLICY"
	// SuspensionChanged is about a workload whose propagation or own work is suspended.
	SuspensionChanged HistoryChange = "SUSPENSION"
	// ReadinessChanged is about the condition Ready of a member cluster or of an instance.
	ReadinessChanged HistoryChange = "READINESS"
	// VersionChanged is about Kubernetes in a member cluster, or Karmada in an instance.
	VersionChanged HistoryChange = "VERSION"
	// TaintsChanged is about a member cluster.
	TaintsChanged HistoryChange = "TAINTS"
	// StateChanged is about the word for an instance.
	StateChanged HistoryChange = "STATE"
	// CredentialsChanged is about the credentials by which Kairship reaches an instance: each is a short text that is
	// theirs alone, and tells nothing of them.
	CredentialsChanged HistoryChange = "CREDENTIALS"
	// Written means that a user changed the object through Kairship: CREATE, UPDATE, PATCH, APPLY or DELETE.
	Written HistoryChange = "WRITTEN"
	// SpecChanged is about a part of the spec of a policy, which the field names.
	SpecChanged HistoryChange = "SPEC"
)

// ObjectKey names what has a history: a workload by its WorkloadKey, or an object of the instance with
// the kind of Karmada or Kairship, such as PropagationPolicy.
type ObjectKey = WorkloadKey

// Entry is one thing of an object that changed.
type Entry struct {
	ObjectKey

	Change HistoryChange `json:"change"`
	// Cluster is the member cluster that it is about; empty for none.
	Cluster string `json:"cluster"`
	// Field is the part of the object; of Created its UID.
	Field string `json:"field"`
	// Before and After are empty for nothing.
	Before string `json:"before"`
	After  string `json:"after"`
	// Message says more for a person.
	Message string `json:"message"`
	// User is who wrote it; empty but for Written.
	User string `json:"username"`
}

// historyColumns are those of the table history, besides its number, its time and the UID of the instance.
var historyColumns = slices.Concat(workloadKey, []column{{"change", text}, {"cluster", text}, {"field", text}, {"before", text}, {"after", text}, {"message", text}, {"username", text}})

// ObjectState is what the history follows of an object that has no row of its own.
type ObjectState struct {
	ObjectKey

	UID string `json:"uid"`
	// CreatedAt is in seconds since 1970.
	CreatedAt int64 `json:"created_at"`
	// State has a text for each change that the history has of the object. A name with a slash is a change
	// and, behind the slash, a field.
	State map[string]string `json:"state"`
}

var objectStateColumns = []column{{"uid", text}, {"created_at", bigint}, {"state", document}}

// The kinds by which the history knows instances and member clusters.
const (
	KindInstance = "Instance"
	KindMember   = "MemberCluster"
)

// observed is what the history compares of a workload.
type observed struct {
	WorkloadKey

	UID             string      `json:"uid"`
	Health          string      `json:"health"`
	PolicyNamespace string      `json:"policy_namespace"`
	PolicyName      string      `json:"policy_name"`
	Message         string      `json:"message"`
	Desired         int32       `json:"desired"`
	Images          []string    `json:"images"`
	Suspended       bool        `json:"suspended"`
	Placements      []Placement `json:"placements"`
}

// observedState and observedDoc are the columns that it is read from.
var (
	observedState = []column{{"uid", text}, {"health", text}, {"policy_namespace", text}, {"policy_name", text}}
	observedDoc   = []column{{"message", text}, {"desired", integer}, {"images", list}, {"suspended", boolean}, {"placements", document}}
)

func observe(w *Workload) *observed {
	return &observed{w.WorkloadKey, w.UID, w.Health, w.PolicyNamespace, w.PolicyName, w.Message, w.Desired, w.Images, w.Suspended, w.Placements}
}

// differences are the entries of a workload.
func differences(was, now *observed) []Entry {
	var entries []Entry
	add := func(change HistoryChange, cluster, before, after, message string) {
		if before != after {
			entries = append(entries, Entry{ObjectKey: now.WorkloadKey, Change: change, Cluster: cluster, Before: before, After: after, Message: message})
		}
	}
	add(ImagesChanged, "", strings.Join(was.Images, " "), strings.Join(now.Images, " "), "")
	add(ReplicasChanged, "", strconv.Itoa(int(was.Desired)), strconv.Itoa(int(now.Desired)), "")
	add(SuspensionChanged, "", strconv.FormatBool(was.Suspended), strconv.FormatBool(now.Suspended), "")
	add(PolicyChanged, "", was.policy(), now.policy(), "")
	old := map[string]*Placement{}
	for i := range was.Placements {
		old[was.Placements[i].Cluster] = &was.Placements[i]
	}
	for i := range now.Placements {
		p := &now.Placements[i]
		o := old[p.Cluster]
		delete(old, p.Cluster)
		if o == nil {
			o = &Placement{}
		}
		add(PlacementChanged, p.Cluster, o.scheduling(), p.scheduling(), p.Message)
		add(ReplicasChanged, p.Cluster, number(o.Desired), number(p.Desired), "")
		add(HealthChanged, p.Cluster, o.Health, p.Health, p.Message)
	}
	for i := range was.Placements {
		if p := &was.Placements[i]; old[p.Cluster] != nil {
			add(PlacementChanged, p.Cluster, p.scheduling(), "", "")
			add(HealthChanged, p.Cluster, p.Health, "", "")
		}
	}
	add(HealthChanged, "", was.Health, now.Health, now.Message)
	return entries
}

// policy is the policy that claims a workload, as a person writes it; empty for none.
func (o *observed) policy() string {
	if o.PolicyNamespace == "" || o.PolicyName == "" {
		return o.PolicyName
	}
	return o.PolicyNamespace + "/" + o.PolicyName
}

// scheduling is what the history has about a workload in a cluster; empty where it is not there.
func (p *Placement) scheduling() string {
	switch {
	case p.Cluster == "":
		return ""
	case p.Evicting:
		return "EVICTING"
	case !p.Scheduled:
		return "LEAVING"
	}
	return "SCHEDULED"
}

func number(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}
