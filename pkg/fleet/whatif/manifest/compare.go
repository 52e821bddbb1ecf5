package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
)

// Effect is what becomes of a manifest in a member cluster.
type Effect string

// The effects, those first that need attention.
const (
	// EffectFailed: Karmada can't make the manifest, and leaves the one that is there.
	EffectFailed Effect = "FAILED"
	// EffectChanged: the manifest changes.
	EffectChanged Effect = "CHANGED"
	// EffectCreated: the cluster has none yet.
	EffectCreated Effect = "CREATED"
	// EffectUnchanged: the manifest stays as it is.
	EffectUnchanged Effect = "UNCHANGED"
)

var effects = []Effect{EffectFailed, EffectChanged, EffectCreated, EffectUnchanged}

// MaxFields limits the changes of a manifest that are kept.
const MaxFields = 100

// Comparison is a manifest that Karmada would make, compared with the one that it sent.
type Comparison struct {
	APIVersion, Kind, Namespace, Name string
	Cluster                           string
	Effect                            Effect
	// Message says why a manifest can't be made.
	Message string
	// Suspended reports whether dispatching to the cluster is suspended, so that a change has to wait.
	Suspended bool
	// Fields are the first that change, by path, at most MaxFields. Values of Secrets are concealed.
	Fields []diff.Change
	// TotalFields is how many change.
	TotalFields int
	digest      string
}

// Compare makes the manifests of a template and compares them with those that the Works have, by cluster.
func Compare(s *Source, works map[string]*workv1alpha1.Work) ([]Comparison, error) {
	sent := map[string]*unstructured.Unstructured{}
	for cluster, work := range works {
		u, err := Sent(work, s.Template)
		if err != nil {
			return nil, err
		}
		sent[cluster] = u
	}
	return compare(s, works, sent), nil
}

// CompareWith makes the manifests of a template and compares them with those that it makes from an earlier state,
// for kinds that an interpreter of the instance revises: what that does is missing on both sides.
func CompareWith(before, s *Source, works map[string]*workv1alpha1.Work) []Comparison {
	sent := map[string]*unstructured.Unstructured{}
	for _, made := range Make(before, works) {
		sent[made.Cluster] = made.Manifest
	}
	return compare(s, works, sent)
}

func compare(s *Source, works map[string]*workv1alpha1.Work, sent map[string]*unstructured.Unstructured) []Comparison {
	var all []Comparison
	for _, made := range Make(s, works) {
		t := s.Template
		c := Comparison{
			APIVersion: t.GetAPIVersion(), Kind: t.GetKind(), Namespace: t.GetNamespace(), Name: t.GetName(),
			Cluster: made.Cluster, Suspended: suspended(s.Binding.Spec.Suspension, made.Cluster), Fields: []diff.Change{},
		}
		c.compare(&made, t, sent[made.Cluster])
		all = append(all, c)
	}
	return all
}

// compare notes what becomes of a manifest; sent is nil where there is none.
func (c *Comparison) compare(made *Made, template, sent *unstructured.Unstructured) {
	if made.Err != nil {
		c.Effect, c.Message = EffectFailed, made.Err.Error()
		return
	}
	before := map[string]any{}
	c.Effect = EffectCreated
	if sent != nil {
		before, c.Effect = sent.Object, EffectUnchanged
	}
	changes := diff.Between(before, made.Manifest.Object)
	if sent != nil && len(changes) > 0 {
		c.Effect = EffectChanged
	}
	c.TotalFields = len(changes)
	if isSecret(template) {
		conceal(changes)
		c.digest = digest(changes)
	} else {
		c.digest = digest([]any{before, made.Manifest.Object})
	}
	c.Fields = append(c.Fields, changes[:min(len(changes), MaxFields)]...)
}

// suspended follows shouldSuspendDispatching of Karmada's binding controller.
func suspended(s *workv1alpha2.Suspension, cluster string) bool {
	if s == nil {
		return false
	}
	return s.Dispatching != nil && *s.Dispatching || s.DispatchingOnClusters != nil && slices.Contains(s.DispatchingOnClusters.ClusterNames, cluster)
}

func isSecret(u *unstructured.Unstructured) bool {
	return u.GetAPIVersion() == "v1" && u.GetKind() == util.SecretKind
}

// concealed stands for a value of a Secret.
const concealed = `"***"`

// conceal takes the values of a Secret out of changes, and what tools keep of them in annotations.
func conceal(changes []diff.Change) {
	for i := range changes {
		c := &changes[i]
		if !slices.ContainsFunc([]string{"/data", "/stringData", "/metadata/annotations"}, func(at string) bool {
			return c.Path == at || strings.HasPrefix(c.Path, at+"/")
		}) {
			continue
		}
		for _, value := range []**string{&c.Before, &c.After} {
			if *value != nil {
				text := concealed
				*value = &text
			}
		}
	}
}

// digest is a hash of manifests or of changes.
func digest(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		panic(err) // It was read from JSON.
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Sort puts comparisons in the order of their effects, then of kind, namespace, name and cluster.
func Sort(all []Comparison) {
	slices.SortFunc(all, func(a, b Comparison) int {
		return cmp.Or(
			cmp.Compare(slices.Index(effects, a.Effect), slices.Index(effects, b.Effect)), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Cluster, b.Cluster),
		)
	})
}

// Fingerprint identifies what some comparisons, which are sorted, say.
func Fingerprint(all []Comparison) string {
	h := sha256.New()
	for i := range all {
		c := &all[i]
		fmt.Fprintf(h, "%q %q %q %q %q %s %q %v %d %s\n", c.APIVersion, c.Kind, c.Namespace, c.Name, c.Cluster, c.Effect, c.Message, c.Suspended, c.TotalFields, c.digest)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
