package resources

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// MaxDocuments is how many objects one call may apply.
const MaxDocuments = 200

// manifestsArgument is the input that holds the documents.
const manifestsArgument = "input.manifests"

// document is one object of a text of manifests, or of another input.
type document struct {
	// number is its place in the text, from 0. Items of a List share the List's.
	number int
	object *unstructured.Unstructured
	// given is what another input states about an object; nil for manifests.
	given *Given
}

// Given is an object that comes from an input which is no manifest.
type Given struct {
	// Argument is the path of the input, and Paths those of its fields.
	Argument string
	Paths    write.Paths
	Object   *unstructured.Unstructured
}

// argument is the path of a document's input.
func (d document) argument() string {
	if d.given != nil {
		return d.given.Argument
	}
	return fmt.Sprintf("%s[%d]", manifestsArgument, d.number)
}

// options are those of a request about the document.
func (d document) options(dryRun bool) write.Options {
	if d.given != nil {
		return write.Options{DryRun: dryRun, Paths: d.given.Paths}
	}
	return write.Options{DryRun: dryRun, Paths: write.Paths{"": d.argument()}}
}

// parseDocuments reads YAML or JSON with one or many documents. Lists are taken
// apart. Documents that hold nothing count, and are left out.
func parseDocuments(text string) ([]document, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewBufferString(text)))
	var documents []document
	for number := 0; ; number++ {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		argument := fmt.Sprintf("%s[%d]", manifestsArgument, number)
		if err != nil {
			return nil, apierror.Invalid(argument, "this document cannot be read")
		}
		// Strict: a key that is given twice is a mistake, and only one would be applied.
		asJSON, err := yaml.YAMLToJSONStrict(raw)
		if err != nil {
			return nil, apierror.Invalid(argument, "this is neither YAML nor JSON: %s", firstLine(err))
		}
		if bytes.Equal(bytes.TrimSpace(asJSON), []byte("null")) {
			continue
		}
		found, err := objectsOf(asJSON)
		if err != nil {
			return nil, apierror.At(err, argument)
		}
		for _, u := range found {
			documents = append(documents, document{number: number, object: u})
		}
		if len(documents) > MaxDocuments {
			return nil, apierror.Invalid(manifestsArgument, "there are more than %d objects: apply them in several calls", MaxDocuments)
		}
	}
	if len(documents) == 0 {
		return nil, apierror.Invalid(manifestsArgument, "there is no manifest in it")
	}
	return documents, nil
}

// firstLine keeps the text of a decoder from telling half of the document.
func firstLine(err error) string {
	line, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
	const most = 200
	if len(line) > most {
		line = append(line[:most:most], "…"...)
	}
	return string(line)
}

func objectsOf(raw []byte) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	// Numbers stay whole: Unstructured's own decoder sees to it.
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, apierror.New(apierror.CodeInvalid, "this is no Kubernetes object: it needs apiVersion, kind and metadata")
	}
	if !u.IsList() {
		return []*unstructured.Unstructured{u}, check(u)
	}
	list, err := u.ToList()
	if err != nil {
		return nil, apierror.New(apierror.CodeInvalid, "the items of this list are no Kubernetes objects")
	}
	var all []*unstructured.Unstructured
	for i := range list.Items {
		if err := check(&list.Items[i]); err != nil {
			return nil, err
		}
		all = append(all, &list.Items[i])
	}
	return all, nil
}

func check(u *unstructured.Unstructured) error {
	if _, ok := u.Object["metadata"].(map[string]any); !ok || u.GetName() == "" {
		return apierror.New(apierror.CodeInvalid, "this %s has no metadata.name; it cannot be applied, not with generateName either", u.GetKind())
	}
	if u.GetAPIVersion() == "" {
		return apierror.New(apierror.CodeInvalid, "this %s has no apiVersion", u.GetKind())
	}
	return nil
}

// rank is the place of an object in the order of application: what others need
// comes first. Override policies come before the policies that send something
// out, so that nothing is sent without its overrides.
func rank(u *unstructured.Unstructured) int {
	group, kind := u.GroupVersionKind().Group, u.GetKind()
	switch {
	case group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition":
		return 0
	case group == "" && kind == "Namespace":
		return 1
	case group == "rbac.authorization.k8s.io", group == "" && kind == "ServiceAccount":
		return 2
	case group == "policy.karmada.io" && (kind == "OverridePolicy" || kind == "ClusterOverridePolicy"):
		return 7
	case group == "policy.karmada.io":
		return 8
	case group == "apps", group == "batch", group == "" && (kind == "Pod" || kind == "ReplicationController"):
		return 5
	case group == "" && kind == "Service":
		return 4
	case group == "", group == "scheduling.k8s.io", group == "storage.k8s.io":
		return 3 // ConfigMaps, Secrets, volumes, quotas.
	default:
		return 6
	}
}
