package build

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// Clusterpedia's binaries were released against a state of its api module that was never published.
// The newest published version declares go 1.16 (so that the generics in its own code do not
// compile) and lacks the declarations below; the CRDs in the clusterpedia module's kustomize/crds
// document them. The component module replaces the api module with the copy patched here.
const (
	clusterpediaAPIModule  = "github.com/clusterpedia-io/api"
	clusterpediaAPIVersion = "v0.8.0"
)

//go:embed clusterpedia/authentication.go.txt
var clusterpediaAuthentication string

// clusterpediaEdits bring the api module to what clusterpedia v0.9.1 was compiled with.
var clusterpediaEdits = []edit{
	{file: "go.mod", anchor: "go 1.16\n", before: "// raised from ", after: "\ngo 1.23\n"},

	// PediaCluster: credentials from a Secret, events of involved resources, the initial list phase.
	{file: "cluster/v1alpha2/types.go", anchor: "\t// +required\n\tSyncResources []ClusterGroupResources `json:\"syncResources\"`\n\n\t// +optional\n\tSyncAllCustomResources",
		before: "\t// +optional\n\tAuthenticationFrom *ClusterAuthentication `json:\"authenticationFrom,omitempty\"`\n\n"},
	{file: "cluster/v1alpha2/types.go", anchor: "\t// +kubebuilder:validation:MinItems=1\n\tResources []string `json:\"resources\"`\n",
		after: "\n\t// +optional\n\tEventsInvolvedResources []string `json:\"eventsInvolvedResources,omitempty\"`\n"},
	{file: "cluster/v1alpha2/types.go", anchor: "\t// optional\n\tMessage string `json:\"message,omitempty\"`\n",
		after: "\n\t// optional\n\tInitialListPhase bool `json:\"initialListPhase,omitempty\"`\n"},
	{file: "cluster/v1alpha2/zz_generated.deepcopy.go", anchor: "func (in *ClusterSpec) DeepCopyInto(out *ClusterSpec) {\n\t*out = *in\n",
		after: "\tout.AuthenticationFrom = in.AuthenticationFrom.DeepCopy()\n"},
	{file: "cluster/v1alpha2/zz_generated.deepcopy.go", anchor: "func (in *ClusterGroupResources) DeepCopyInto(out *ClusterGroupResources) {\n\t*out = *in\n",
		after: "\tout.EventsInvolvedResources = append([]string(nil), in.EventsInvolvedResources...)\n"},

	// ListOptions: events of an object in its answer, and the label that forwards a request.
	{file: "clusterpedia/types.go", anchor: "\tSearchLabelBefore = \"search.clusterpedia.io/before\"\n",
		after: "\n\tSearchLabelInjectEvents   = \"search.clusterpedia.io/inject-events\"\n\tSearchLabelForwardRequest = \"search.clusterpedia.io/forward\"\n"},
	{file: "clusterpedia/types.go", anchor: "\tShadowAnnotationGroupVersionResource = \"shadow.clusterpedia.io/gvr\"\n",
		after: "\tShadowAnnotationEvents               = \"shadow.clusterpedia.io/events\"\n"},
	{file: "clusterpedia/types.go", anchor: "\tOnlyMetadata bool\n",
		after: "\n\tInjectEvents bool\n"},
	{file: "clusterpedia/v1beta1/types.go", anchor: "\tOnlyMetadata bool `json:\"onlyMetadata,omitempty\"`\n",
		after: "\n\t// +optional\n\tInjectEvents bool `json:\"injectEvents,omitempty\"`\n"},
	{file: "clusterpedia/v1beta1/conversion.go", anchor: "\tout.OnlyMetadata = in.OnlyMetadata\n\treturn nil\n",
		before: "\tout.InjectEvents = out.InjectEvents || in.InjectEvents\n"},
	{file: "clusterpedia/v1beta1/conversion.go", anchor: "\t\t\t\tcase clusterpedia.SearchLabelWithContinue:\n",
		before: "\t\t\t\tcase clusterpedia.SearchLabelInjectEvents:\n\t\t\t\t\tif err := runtime.Convert_Slice_string_To_bool(&values, &out.InjectEvents, s); err != nil {\n\t\t\t\t\t\treturn err\n\t\t\t\t\t}\n"},
	{file: "clusterpedia/v1beta1/zz_generated.conversion.go", anchor: "\t// WARNING: Field urlQuery does not have json tag, skipping.\n",
		before: "\tif values, ok := map[string][]string(*in)[\"injectEvents\"]; ok && len(values) > 0 {\n\t\tif err := runtime.Convert_Slice_string_To_bool(&values, &out.InjectEvents, s); err != nil {\n\t\t\treturn err\n\t\t}\n\t} else {\n\t\tout.InjectEvents = false\n\t}\n"},
}

// patchClusterpedia puts the patched api module beside the work folder's go.mod, whose replace
// directive points to ./api.
func patchClusterpedia(work workspace) error {
	source, err := work.download(clusterpediaAPIModule, clusterpediaAPIVersion)
	if err != nil {
		return err
	}
	return patchClusterpediaAPI(source, filepath.Join(work.dir, "api"))
}

// patchClusterpediaAPI copies the api module from moduleDir to dst and adds what is missing.
func patchClusterpediaAPI(moduleDir, dst string) error {
	if err := copyTree(moduleDir, dst); err != nil {
		return fmt.Errorf("copying %s: %w", clusterpediaAPIModule, err)
	}
	for _, e := range clusterpediaEdits {
		if err := e.apply(dst); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dst, "cluster/v1alpha2/authentication.go"), []byte(clusterpediaAuthentication), 0o644)
}
