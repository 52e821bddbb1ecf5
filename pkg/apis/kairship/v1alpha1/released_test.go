package v1alpha1_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/crdcompat"
)

// released has a folder for each release; its README names them.
const released = "../released"

// current are the definitions as the chart has them now.
const current = "../../../../deploy/helm/kairship/crds"

// releases are the folders of all releases.
func releases(t *testing.T) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(released, "v*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no release in %s: %v", released, err)
	}
	return folders
}

func definitions(t *testing.T, dir string) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in %s: %v", dir, err)
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[crd.Name] = &crd
	}
	return found
}

// objects are those of a release, one document after the other.
func objects(t *testing.T, release string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(release, "objects", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no objects in %s: %v", release, err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, object)
		}
	}
	return all
}

// TestReleasedDefinitions finds a change of a definition that would break what is stored,
// or its writers.
func TestReleasedDefinitions(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(released, "accepted.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var accepted []struct{ Problem, Because string }
	if err := yaml.UnmarshalStrict(raw, &accepted); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	now := definitions(t, current)
	for _, release := range releases(t) {
		for name, before := range definitions(t, filepath.Join(release, "crds")) {
			after, there := now[name]
			if !there {
				t.Errorf("%s: %s was removed", filepath.Base(release), name)
				continue
			}
			for _, problem := range crdcompat.Compare(before, after) {
				used[problem] = true
				if !slices.ContainsFunc(accepted, func(a struct{ Problem, Because string }) bool { return a.Problem == problem && a.Because != "" }) {
					t.Errorf("since %s: %s\n(what to do: %s/README.md)", filepath.Base(release), problem, released)
				}
			}
		}
	}
	for _, a := range accepted {
		if !used[a.Problem] {
			t.Errorf("accepted.yaml accepts what is no problem any longer: %s", a.Problem)
		}
	}
}

// TestUpgradeKeepsWhatIsStored stores objects with the definitions of each release, puts
// the chart's in their place as an upgrade does, and finds every object as it was, and
// its programs able to go on writing it.
func TestUpgradeKeepsWhatIsStored(t *testing.T) {
	for _, release := range releases(t) {
		t.Run(filepath.Base(release), func(t *testing.T) {
			config := apitest.OtherConfig(t)
			t.Cleanup(apitest.InstallCRDs(t, config, filepath.Join(release, "crds")))
			kube := upgradeClient(t, config)
			var before []*unstructured.Unstructured
			for _, object := range objects(t, release) {
				before = append(before, stored(t, kube, object))
			}
			t.Cleanup(apitest.InstallCRDs(t, config, current))
			kube = upgradeClient(t, config)
			for _, was := range before {
				name := was.GetKind() + " " + was.GetName()
				is := &unstructured.Unstructured{}
				is.SetGroupVersionKind(was.GroupVersionKind())
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(was), is); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, part := range []string{"spec", "status"} {
					// A new field with a default may come; nothing may go, and nothing may change.
					if missing := lost(was.Object[part], is.Object[part]); len(missing) > 0 {
						t.Errorf("%s: of its %s is lost or changed: %v\n%s", name, part, missing, cmp.Diff(was.Object[part], is.Object[part]))
					}
				}
				is.SetLabels(map[string]string{"example.com/upgraded": "true"})
				if err := kube.Update(t.Context(), is); err != nil {
					t.Errorf("%s cannot be written any longer: %v", name, err)
				}
				if _, has := is.Object["status"]; has {
					if err := kube.Status().Update(t.Context(), is); err != nil {
						t.Errorf("the status of %s cannot be written any longer: %v", name, err)
					}
				}
				again := was.DeepCopy()
				again.SetResourceVersion("")
				again.SetUID("")
				if err := kube.Delete(t.Context(), is); err != nil {
					t.Fatal(err)
				}
				if err := kube.Create(t.Context(), again); err != nil {
					t.Errorf("%s cannot be made any longer: %v", name, err)
				}
			}
		})
	}
}

func upgradeClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	kube, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

// stored is an object as the server keeps it, with its status.
func stored(t *testing.T, kube client.Client, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	name := object.GetKind() + " " + object.GetName()
	wanted := object.DeepCopy()
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatalf("%s was valid in its release: %v", name, err)
	}
	if status, has := wanted.Object["status"]; has {
		object.Object["status"] = status
		if err := kube.Status().Update(t.Context(), object); err != nil {
			t.Fatalf("the status of %s was valid in its release: %v", name, err)
		}
	}
	if missing := lost(wanted.Object["spec"], object.Object["spec"]); len(missing) > 0 {
		t.Fatalf("%s has fields that its release did not have: %v", name, missing)
	}
	return object
}

// lost says what of one value is not, or not the same, in another one.
func lost(before, after any) []string {
	switch was := before.(type) {
	case map[string]any:
		is, _ := after.(map[string]any)
		var all []string
		for key, value := range was {
			for _, path := range lost(value, is[key]) {
				all = append(all, "."+key+path)
			}
		}
		return all
	case []any:
		is, _ := after.([]any)
		if len(is) != len(was) {
			return []string{fmt.Sprintf(": %d items, were %d", len(is), len(was))}
		}
		var all []string
		for i := range was {
			for _, path := range lost(was[i], is[i]) {
				all = append(all, fmt.Sprintf("[%d]%s", i, path))
			}
		}
		return all
	default:
		if !cmp.Equal(before, after) {
			return []string{fmt.Sprintf(": %v, was %v", after, before)}
		}
		return nil
	}
}
