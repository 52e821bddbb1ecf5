package projector

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

const (
	// pruneInterval is the time between two looks for entries that are too old.
	pruneInterval = time.Minute
	// pruned is how many of them are removed at most in one transaction.
	pruned = 5000
	// longest is how much of a part of a spec an entry has, in bytes.
	longest = 4096
)

// Instance is what the projector records of an instance.
type Instance struct {
	*v1alpha1.Instance

	// Retention is how long its history is kept; 0 for as long as that of others.
	Retention time.Duration
}

// followed are the types of objects that have a history besides workloads.
var followed = []index.Type{index.MemberClusters, index.PropagationPolicies, index.ClusterPropagationPolicies, index.OverridePolicies, index.ClusterOverridePolicies}

// historyKind is the kind by which the history knows the objects of a type.
func historyKind(t index.Type) string {
	if t == index.MemberClusters {
		return projection.KindMember
	}
	return t.Kind
}

// observeObjects reads the objects besides workloads that changes name and the history follows.
func (l *loader) observeObjects(changes []projection.Change, w *projection.Writes) error {
	keys := map[projection.ObjectKey]projection.ResourceKey{}
	for i := range changes {
		c := &changes[i]
		instance := v1alpha1.InstanceOfVirtualCluster(c.Cluster)
		for _, t := range followed {
			if instance != "" && t.Resource == c.Resource && (t.Group == c.Group || c.Group == projection.ObjectGroup) {
				key := projection.ObjectKey{Instance: instance, Kind: historyKind(t), Namespace: c.Namespace, Name: c.Name}
				keys[key] = resource(c.Cluster, t, c.Namespace, c.Name)
				if _, read := l.objects[keys[key]]; !read {
					l.missing[keys[key]] = true
				}
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := l.load(); err != nil {
		return err
	}
	for key, in := range keys {
		d := l.objects[in]
		switch {
		case d == nil:
			w.GoneObjects = append(w.GoneObjects, key)
		case d.err == nil:
			state, err := stateOf(key, d.value)
			if err != nil {
				return err
			}
			w.Objects = append(w.Objects, state)
		}
	}
	return nil
}

// stateOf is what the history follows of an object.
func stateOf(key projection.ObjectKey, object any) (projection.ObjectState, error) {
	state := projection.ObjectState{ObjectKey: key, State: map[string]string{}}
	var spec any
	switch o := object.(type) {
	case *clusterv1alpha1.Cluster:
		state.UID, state.CreatedAt = string(o.UID), o.CreationTimestamp.Unix()
		state.State[string(projection.ReadinessChanged)] = ready(o.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
		state.State[string(projection.VersionChanged)] = o.Status.KubernetesVersion
		taints := make([]string, len(o.Spec.Taints))
		for i := range o.Spec.Taints {
			taints[i] = o.Spec.Taints[i].ToString()
		}
		slices.Sort(taints)
		state.State[string(projection.TaintsChanged)] = strings.Join(taints, " ")
		return state, nil
	case *policyv1alpha1.PropagationPolicy:
		state.UID, state.CreatedAt, spec = string(o.UID), o.CreationTimestamp.Unix(), &o.Spec
	case *policyv1alpha1.OverridePolicy:
		state.UID, state.CreatedAt, spec = string(o.UID), o.CreationTimestamp.Unix(), &o.Spec
	default:
		return state, fmt.Errorf("the history cannot follow a %T", object)
	}
	parts := map[string]json.RawMessage{}
	raw, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(raw, &parts)
	}
	for name, value := range parts {
		text := string(value)
		if len(text) > longest {
			text = strings.ToValidUTF8(text[:longest], "") + "…"
		}
		state.State[string(projection.SpecChanged)+"/"+name] = text
	}
	return state, err
}

// ready is what the history has of a condition: its status, and behind it the reason unless it is true.
func ready(conditions []metav1.Condition, name string) string {
	c := meta.FindStatusCondition(conditions, name)
	switch {
	case c == nil:
		return ""
	case c.Status == metav1.ConditionTrue || c.Reason == "":
		return string(c.Status)
	}
	return string(c.Status) + " " + c.Reason
}

// credentials is a short text for the credentials that have been seen to lead to an instance; empty for none.
func credentials(i *v1alpha1.Instance) string {
	c := i.Status.ControlPlane
	if c == nil || c.CredentialsFingerprint == "" {
		return ""
	}
	const shown = 4
	sum := sha256.Sum256([]byte(c.CredentialsFingerprint))
	return hex.EncodeToString(sum[:shown])
}

// observeInstances records what changed of the instances, and removes what is older than the history is kept.
func (p *Projector) observeInstances(ctx context.Context) error {
	if p.Instances == nil {
		return nil
	}
	instances, err := p.Instances(ctx)
	if err != nil {
		return err
	}
	states := make([]projection.ObjectState, len(instances))
	kept := map[string]time.Duration{}
	for i := range instances {
		o := &instances[i]
		states[i] = projection.ObjectState{
			ObjectKey: projection.ObjectKey{Instance: o.Name, Kind: projection.KindInstance, Name: o.Name}, UID: string(o.UID), CreatedAt: o.CreationTimestamp.Unix(),
			State: map[string]string{string(projection.StateChanged): string(o.Status.State), string(projection.ReadinessChanged): ready(o.Status.Conditions, v1alpha1.ConditionReady), string(projection.VersionChanged): o.Status.KarmadaVersion, string(projection.CredentialsChanged): credentials(o.Instance)},
		}
		if o.Retention > 0 {
			kept[string(o.UID)] = o.Retention
		}
	}
	if err := p.DB.SetObjects(ctx, projection.KindInstance, states); err != nil || p.HistoryRetention <= 0 || time.Now().Before(p.nextPrune) {
		return err
	}
	p.nextPrune = time.Now().Add(pruneInterval)
	removed, err := p.DB.PruneHistory(ctx, p.HistoryRetention, kept, pruned)
	if removed == pruned {
		p.nextPrune = time.Time{} // More may be too old.
	}
	return err
}
