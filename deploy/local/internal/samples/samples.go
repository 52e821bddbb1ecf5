// Package samples holds the applications that every fleet runs: one of each kind and one of each way
// to go wrong.
package samples

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// Sample is one application in an instance.
type Sample struct {
	Instance        string
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// Missing returns nothing when the application is as it will stay, else what is missing.
	Missing func(*unstructured.Unstructured) string
	// Uncollected reports whether the index does not have the application itself.
	Uncollected bool
	// Scheduled is what the condition Scheduled of the application's ResourceBinding becomes; empty
	// where no policy claims the application, so that it has none.
	Scheduled string
}

func (s Sample) String() string {
	return fmt.Sprintf("%s %s/%s of %s", s.GVK.Kind, s.Namespace, s.Name, s.Instance)
}

// Binding is the name that Karmada gives the application's ResourceBinding.
func (s Sample) Binding() string {
	switch s.GVK.Kind {
	case "Deployment":
		return s.Name + "-deployment"
	case "StatefulSet":
		return s.Name + "-statefulset"
	case "DaemonSet":
		return s.Name + "-daemonset"
	case "CronJob":
		return s.Name + "-cronjob"
	case "Transcoder":
		return s.Name + "-transcoder"
	default:
		return s.Name + "-job"
	}
}

// BindingGVK is the kind of a binding.
var BindingGVK = schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha2", Kind: "ResourceBinding"}

var (
	deployment  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	statefulSet = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	daemonSet   = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	job         = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	cronJob     = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	// transcoder is a custom kind, which the index does not collect.
	transcoder = schema.GroupVersionKind{Group: "media.example.com", Version: "v1", Kind: "Transcoder"}
)

// All lists the applications. The numbers follow from the manifests: replicas, how they are divided
// or duplicated over the members, and the members' nodes.
func All() []Sample {
	return []Sample{
		{Instance: "alpha", GVK: deployment, Namespace: "shop", Name: "frontend", Scheduled: "True", Missing: status(4, "readyReplicas")},
		{Instance: "alpha", GVK: statefulSet, Namespace: "shop", Name: "cart", Scheduled: "True", Missing: status(4, "readyReplicas")},
		{Instance: "alpha", GVK: daemonSet, Namespace: "ops", Name: "agent", Scheduled: "True", Missing: status(2*topology.NodesPerMember, "numberReady")},
		{Instance: "alpha", GVK: cronJob, Namespace: "ops", Name: "report", Scheduled: "True", Missing: anyState},
		{Instance: "alpha", GVK: job, Namespace: "ops", Name: "migrate", Scheduled: "True", Missing: completed},
		{Instance: "alpha", GVK: deployment, Namespace: "shop", Name: "stuck", Scheduled: "False", Missing: anyState},
		{Instance: "alpha", GVK: deployment, Namespace: "shop", Name: "orphan", Missing: anyState},
		{Instance: "alpha", GVK: transcoder, Namespace: "media", Name: "thumbnails", Scheduled: "True", Missing: anyState, Uncollected: true},
		{Instance: "beta", GVK: deployment, Namespace: "billing", Name: "api", Scheduled: "True", Missing: status(2, "readyReplicas")},
		{Instance: "beta", GVK: statefulSet, Namespace: "billing", Name: "ledger", Scheduled: "True", Missing: status(3, "readyReplicas")},
	}
}

// status waits for a number in the status that Karmada sums up over the members.
func status(want int64, field string) func(*unstructured.Unstructured) string {
	return func(o *unstructured.Unstructured) string {
		if have := kube.Number(o, "status", field); have != want {
			return fmt.Sprintf("status.%s is %d, not %d", field, have, want)
		}
		return ""
	}
}

func completed(o *unstructured.Unstructured) string { return kube.ConditionIs(o, "Complete", "True") }

// anyState is for applications without a status to wait for; their binding tells.
func anyState(*unstructured.Unstructured) string { return "" }

// Kinds returns the custom kinds of an instance's applications, for the instance and its members.
func Kinds(instance string) ([]*unstructured.Unstructured, error) {
	if instance != "alpha" {
		return nil, nil
	}
	return Objects("kinds")
}

// Objects returns the manifests of an instance's applications and policies, policies first: an
// application that arrives before its policy would be claimed only after a delay.
func Objects(instance string) ([]*unstructured.Unstructured, error) {
	text, err := manifests.ReadFile("manifests/" + instance + ".yaml")
	if err != nil {
		return nil, err
	}
	objects, err := kube.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("sample applications of %s: %w", instance, err)
	}
	return objects, nil
}

// Hash identifies all manifests.
func Hash() string {
	h := sha256.New()
	files, err := fs.Glob(manifests, "manifests/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, file := range files {
		text, err := manifests.ReadFile(file)
		if err != nil {
			panic(err) // it is compiled in
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
