package build

// EarlierSuffix ends the names of the programs of the earlier Karmada.
const EarlierSuffix = "-earlier"

// EarlierKarmada is the release of Karmada before the one that Kairship is tested with, from which a real node is
// upgraded. It is built for that alone.
func EarlierKarmada() Module {
	versions := []versionVar{{karmadaModule + "/pkg/version", karmadaModule}}
	m := Module{
		Name: "karmada-earlier", Folder: "deploy/real/components/karmada-earlier",
		Manifests: []Manifest{{Module: karmadaModule, Folder: "charts/karmada/_crds", As: "karmada-earlier/crds"}},
	}
	for _, program := range []string{"aggregated-apiserver", "controller-manager", "scheduler", "webhook", "metrics-adapter", "descheduler"} {
		m.Binaries = append(m.Binaries, Binary{Name: "karmada-" + program + EarlierSuffix, Package: karmadaModule + "/cmd/" + program, versions: versions})
	}
	m.Binaries = append(m.Binaries, Binary{Name: "karmada-operator" + EarlierSuffix, Package: karmadaModule + "/operator/cmd/operator", versions: versions})
	return m
}

// coreDNSModule is the module of this repository that CoreDNS is compiled in.
const coreDNSModule = "github.com/kairship-io/kairship/deploy/real/components/coredns"

// Node lists the modules that a real node needs beside those of the fleet: the agents of the node, its
// DNS server, and the components of Karmada that the fleet does not run.
func Node() []Module {
	return []Module{
		{
			Name:   "node",
			Folder: "deploy/real/components/node",
			Binaries: []Binary{
				{Name: "kubelet", Package: kubernetesModule + "/cmd/kubelet", versions: kubernetesVersions},
				{Name: "kube-proxy", Package: kubernetesModule + "/cmd/kube-proxy", versions: kubernetesVersions},
				{Name: "karmada-metrics-adapter", Package: karmadaModule + "/cmd/metrics-adapter", versions: karmadaVersions},
				{Name: "karmada-descheduler", Package: karmadaModule + "/cmd/descheduler", versions: karmadaVersions},
			},
		},
		{
			// Its own program has plugins for clouds, which take minutes to compile.
			Name:     "coredns",
			Folder:   "deploy/real/components/coredns",
			Sources:  []string{"main.go"},
			Binaries: []Binary{{Name: "coredns", Package: coreDNSModule}}, // its version is a constant
		},
	}
}
