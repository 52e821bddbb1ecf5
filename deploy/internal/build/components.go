// Package build compiles components from their pinned modules, once per machine: those of the local fleet
// and those of a real node.
//
// Each module under deploy/local/components and deploy/real/components pins a set of binaries that resolve
// together. A module
// is compiled into the user's cache directory, in a folder named by a hash of everything that
// decides the result, so that a second clone of the repository finds the binaries there and a
// changed pin compiles anew without disturbing a fleet that runs the old ones.
package build

import "fmt"

// Module is one pinned Go module and the binaries compiled from it.
type Module struct {
	// Name is the first part of the name of its folder in the cache.
	Name string
	// Folder is where the repository has its go.mod and go.sum.
	Folder string
	// Sources are Go files of the folder that are compiled too.
	Sources []string
	// Binaries are the module's tools that are used.
	Binaries []Binary
	// CGO reports whether the binaries need a C compiler.
	CGO bool
	// Manifests are folders of dependencies that are read at run time. They are copied next
	// to the binaries, so that a fleet starts also when the module cache has been emptied.
	Manifests []Manifest
	// patch prepares what the module's replace directives point to. It runs in the work folder,
	// which holds a copy of the module's go.mod and go.sum.
	patch func(work workspace) error
	// patchInputs is part of the hash: a changed patch is a changed result.
	patchInputs string
}

// Binary is one program of a module.
type Binary struct {
	// Name is the file's name in the fleet's bin folder.
	Name string
	// Package is the import path of its main package.
	Package string
	// versions sets version variables, so that the program reports what it was built from.
	versions []versionVar
}

// Manifest is a folder of a dependency that is copied beside the binaries.
type Manifest struct {
	Module string // module path
	Folder string // inside the module
	As     string // folder below <component>/manifests
}

// versionVar is a version package whose gitVersion and companions are set when linking. The values
// come from the go.mod requirement of the module named.
type versionVar struct {
	pkg    string
	module string
}

const (
	kubernetesModule   = "k8s.io/kubernetes"
	karmadaModule      = "github.com/karmada-io/karmada"
	clusterpediaModule = "github.com/clusterpedia-io/clusterpedia"
	kwokModule         = "sigs.k8s.io/kwok"
	metricsModule      = "sigs.k8s.io/metrics-server"
)

// The version packages. component-base's is what an apiserver says at /version, client-go's is what
// a program says in its User-Agent.
const (
	componentVersion = "k8s.io/component-base/version"
	clientVersion    = "k8s.io/client-go/pkg/version"
)

// The version variables of the programs of each project.
var (
	kubernetesVersions   = []versionVar{{componentVersion, kubernetesModule}, {clientVersion, kubernetesModule}}
	karmadaVersions      = []versionVar{{karmadaModule + "/pkg/version", karmadaModule}, {componentVersion, kubernetesModule}, {clientVersion, karmadaModule}}
	clusterpediaVersions = []versionVar{{clusterpediaModule + "/pkg/version", clusterpediaModule}, {componentVersion, kubernetesModule}, {clientVersion, clusterpediaModule}}
)

// Fleet lists the modules of the local fleet in the order in which they are built.
func Fleet() []Module {
	return []Module{
		{
			Name:   "controlplane",
			Folder: "deploy/local/components/controlplane",
			Binaries: []Binary{
				{Name: "etcd", Package: "go.etcd.io/etcd/server/v3"}, // its version is a constant
				{Name: "kube-apiserver", Package: kubernetesModule + "/cmd/kube-apiserver", versions: kubernetesVersions},
				{Name: "kube-controller-manager", Package: kubernetesModule + "/cmd/kube-controller-manager", versions: kubernetesVersions},
				{Name: "kube-scheduler", Package: kubernetesModule + "/cmd/kube-scheduler", versions: kubernetesVersions},
				{Name: "kubectl", Package: kubernetesModule + "/cmd/kubectl", versions: kubernetesVersions},
				{Name: "karmada-aggregated-apiserver", Package: karmadaModule + "/cmd/aggregated-apiserver", versions: karmadaVersions},
				{Name: "karmada-controller-manager", Package: karmadaModule + "/cmd/controller-manager", versions: karmadaVersions},
				{Name: "karmada-scheduler", Package: karmadaModule + "/cmd/scheduler", versions: karmadaVersions},
				{Name: "karmada-webhook", Package: karmadaModule + "/cmd/webhook", versions: karmadaVersions},
				{Name: "karmada-operator", Package: karmadaModule + "/operator/cmd/operator", versions: karmadaVersions},
			},
			Manifests: []Manifest{
				{Module: karmadaModule, Folder: "charts/karmada/_crds", As: "karmada/crds"},
				{Module: karmadaModule, Folder: "artifacts/deploy", As: "karmada/deploy"},
			},
		},
		{
			Name:   "clusterpedia",
			Folder: "deploy/local/components/clusterpedia",
			CGO:    true, // its SQLite driver is C
			Binaries: []Binary{
				{Name: "clusterpedia-apiserver", Package: clusterpediaModule + "/cmd/apiserver", versions: clusterpediaVersions},
				{Name: "clusterpedia-clustersynchro-manager", Package: clusterpediaModule + "/cmd/clustersynchro-manager", versions: clusterpediaVersions},
			},
			Manifests:   []Manifest{{Module: clusterpediaModule, Folder: "kustomize/crds", As: "clusterpedia/crds"}},
			patch:       patchClusterpedia,
			patchInputs: fmt.Sprintf("%s %s %+v %s", clusterpediaAPIModule, clusterpediaAPIVersion, clusterpediaEdits, clusterpediaAuthentication),
		},
		{
			Name:      "kwok",
			Folder:    "deploy/local/components/kwok",
			Binaries:  []Binary{{Name: "kwok", Package: kwokModule + "/cmd/kwok"}}, // its version is a constant
			Manifests: []Manifest{{Module: kwokModule, Folder: "kustomize/stage", As: "kwok/stage"}},
		},
		{
			Name:     "metricsserver",
			Folder:   "deploy/local/components/metricsserver",
			Binaries: []Binary{{Name: "metrics-server", Package: metricsModule + "/cmd/metrics-server", versions: []versionVar{{clientVersion, metricsModule}}}},
		},
	}
}
