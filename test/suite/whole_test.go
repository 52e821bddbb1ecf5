package suite

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestWholeInventory: the resources of the inventory as the global cluster has them, without what is for tools alone.
func TestWholeInventory(t *testing.T) {
	on := open(t)
	type whole struct {
		Manifest map[string]any
		YAML     string
	}
	for _, who := range []string{"admin", "alice"} {
		got, _ := gql.MustQuery[struct {
			Instance struct {
				Manifest map[string]any
				YAML     *string
			}
			Cluster whole
		}](t, on.as(t, who), `{ instance(name: "alpha") { manifest yaml } cluster(name: "m1") { manifest yaml } }`, nil)
		objects := map[string]whole{"Cluster m1": got.Cluster}
		switch {
		case who == "admin" && got.Instance.YAML == nil:
			t.Error("admin does not see the Instance")
		case who == "admin":
			objects["Instance alpha"] = whole{got.Instance.Manifest, *got.Instance.YAML}
		case got.Instance.Manifest != nil || got.Instance.YAML != nil:
			t.Errorf("%s, who may not change it, sees the Instance as a whole", who)
		}
		for name, object := range objects {
			check(t, who, name, object.Manifest, object.YAML)
		}
	}
}

func check(t *testing.T, who, name string, manifest map[string]any, text string) {
	t.Helper()
	kind, named, _ := strings.Cut(name, " ")
	metadata, _ := manifest["metadata"].(map[string]any)
	if manifest["kind"] != kind || manifest["apiVersion"] != "kairship.io/v1alpha1" || metadata["name"] != named || manifest["spec"] == nil || manifest["status"] == nil {
		t.Errorf("%s sees %s as %v", who, name, manifest)
	}
	var same map[string]any
	if err := yaml.Unmarshal([]byte(text), &same); err != nil || len(same) != len(manifest) {
		t.Errorf("the YAML of %s is another object: %v: %s", name, err, text)
	}
	for _, never := range []string{"managedFields", "last-applied-configuration", "-----BEGIN", "token:"} {
		if strings.Contains(text, never) {
			t.Errorf("%s shows %s: %s", name, never, text)
		}
	}
}
