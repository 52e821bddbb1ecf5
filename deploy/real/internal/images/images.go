// Package images lists the images of a real node's pods, builds them from this machine's files and imports
// them into the node.
package images

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/karmada-io/karmada/operator/pkg/constants"

	"github.com/kairship-io/kairship/deploy/internal/build"
	"github.com/kairship-io/kairship/deploy/real/internal/image"
)

// Registry is that of the images that have no name elsewhere. Nothing is ever pulled from it.
const Registry = "localhost"

// The names of images that manifests of this program use.
const (
	Pause    = Registry + "/pause:1"
	DNS      = Registry + "/coredns:1"
	Metrics  = Registry + "/metrics-server:1"
	Database = Registry + "/postgres:1"
	// Tools has a shell and the commands that sample applications consist of.
	Tools = Registry + "/tools:1"
)

// unprivileged is the user of images that need no other.
const unprivileged = "65532:65532"

// Sources says where the files of this machine are that images are made of.
type Sources struct {
	// Binaries are the components by their names.
	Binaries map[string]string
	// Pause, APIServer and ControllerManager are programs of this repository.
	Pause, APIServer, ControllerManager string
	// Postgres is the folder with PostgreSQL's programs.
	Postgres string
	// CRDs is the folder with Karmada's definitions, and CRDsURL where a Karmada has them from.
	CRDs, CRDsURL string
	// The versions of Karmada and Clusterpedia, with a v.
	Karmada, Clusterpedia string
	// Earlier is an earlier Karmada whose images the node has too; nil for none.
	Earlier *Earlier
}

// Earlier is an earlier release of Karmada. Its binaries are among the Sources', with build.EarlierSuffix.
type Earlier struct {
	// Version has a v.
	Version string
	// CRDs is the folder with its definitions, and CRDsURL where a Karmada has them from.
	CRDs, CRDsURL string
}

// Set is all images of a node.
type Set struct {
	Images []image.Image
	// KairshipTag is the tag of both images of Kairship: another one whenever their content changes.
	KairshipTag string
}

// New lists the images.
func New(ctx context.Context, s Sources) (Set, error) {
	base := image.Base()
	var linked []string
	for _, path := range s.Binaries {
		linked = append(linked, path)
	}
	libraries, err := image.Libraries(ctx, linked)
	if err != nil {
		return Set{}, err
	}
	component := func(name, path, binary, user string) image.Image {
		return image.Image{Name: name, Layers: []*image.Layer{base, libraries, image.Program(path, s.Binaries[binary])}, Entrypoint: []string{path}, User: user}
	}
	set := Set{Images: []image.Image{
		{Name: Pause, Layers: []*image.Layer{image.Program("/pause", s.Pause)}, Entrypoint: []string{"/pause"}, User: unprivileged},
		component(DNS, "/coredns", "coredns", unprivileged),
		component(Metrics, "/metrics-server", "metrics-server", unprivileged),
		component(Registry+"/clusterpedia-apiserver:"+s.Clusterpedia, "/usr/local/bin/apiserver", "clusterpedia-apiserver", ""),
		component(Registry+"/clusterpedia-clustersynchro-manager:"+s.Clusterpedia, "/usr/local/bin/clustersynchro-manager", "clusterpedia-clustersynchro-manager", ""),
	}}
	karmada, err := s.karmada(component)
	if err != nil {
		return Set{}, err
	}
	set.Images = append(set.Images, karmada...)
	tools, err := toolsImage(ctx, base)
	if err != nil {
		return Set{}, err
	}
	database, err := s.database(ctx, base)
	if err != nil {
		return Set{}, err
	}
	set.Images = append(set.Images, tools, database)
	kairship, tag, err := s.kairship(base)
	if err != nil {
		return Set{}, err
	}
	set.Images, set.KairshipTag = append(set.Images, kairship...), tag
	return set, nil
}

// karmada lists the images that the operator asks for by default, and its own. The tags of etcd and Kubernetes
// are what the operator asks for; the programs are of the versions that this repository pins.
func (s Sources) karmada(component func(name, path, binary, user string) image.Image) ([]image.Image, error) {
	kube := constants.KubeDefaultRepository + "/"
	all := []image.Image{
		component(kube+constants.Etcd+":"+constants.EtcdDefaultVersion, "/usr/local/bin/etcd", "etcd", ""),
		component(kube+constants.KubeAPIServer+":"+constants.KubeDefaultVersion, "/usr/local/bin/kube-apiserver", "kube-apiserver", ""),
		component(kube+constants.KubeControllerManager+":"+constants.KubeDefaultVersion, "/usr/local/bin/kube-controller-manager", "kube-controller-manager", ""),
	}
	var archives []*image.Layer // of all releases: an operator asks for that of the version which an instance has
	release := func(version, suffix, crds, url string) error {
		for _, name := range []string{
			"karmada-aggregated-apiserver", "karmada-controller-manager", "karmada-scheduler", "karmada-webhook", "karmada-metrics-adapter", "karmada-descheduler",
		} {
			all = append(all, component(constants.KarmadaDefaultRepository+"/"+name+":"+version, "/bin/"+name, name+suffix, ""))
		}
		operator := component(constants.KarmadaDefaultRepository+"/karmada-operator:"+version, "/bin/karmada-operator", "karmada-operator"+suffix, "")
		downloaded, err := downloadedCRDs(crds, url)
		archives = append(archives, downloaded)
		operator.Layers = append(operator.Layers, archives...)
		all = append(all, operator)
		return err
	}
	var err error
	if e := s.Earlier; e != nil {
		err = release(e.Version, build.EarlierSuffix, e.CRDs, e.CRDsURL)
	}
	return all, errors.Join(err, release(s.Karmada, "", s.CRDs, s.CRDsURL))
}

// shell are the programs of this machine that sample applications and scripts use.
var shell = map[string]string{
	"/bin/sh": "/bin/sh", "/bin/cat": "/bin/cat", "/bin/date": "/bin/date", "/bin/sleep": "/bin/sleep", "/bin/echo": "/bin/echo",
	"/bin/hostname": "/bin/hostname", "/bin/ls": "/bin/ls", "/bin/mv": "/bin/mv", "/bin/rm": "/bin/rm", "/usr/bin/env": "/usr/bin/env", "/usr/bin/id": "/usr/bin/id",
}

// shellLayers are the programs of the shell with their libraries.
func shellLayers(ctx context.Context) ([]*image.Layer, error) {
	programs := &image.Layer{}
	var paths []string
	for path, source := range shell {
		paths = append(paths, path)
		programs.Entries = append(programs.Entries, image.Entry{Path: path, Source: source, Mode: 0o755})
	}
	programs.Sort()
	libraries, err := image.Libraries(ctx, paths)
	return []*image.Layer{libraries, programs}, err
}

func toolsImage(ctx context.Context, base *image.Layer) (image.Image, error) {
	layers, err := shellLayers(ctx)
	return image.Image{Name: Tools, Layers: append([]*image.Layer{base}, layers...), Entrypoint: []string{"/bin/sh"}, User: unprivileged}, err
}

// database is PostgreSQL as this machine has it installed.
func (s Sources) database(ctx context.Context, base *image.Layer) (image.Image, error) {
	layers, err := shellLayers(ctx)
	if err != nil {
		return image.Image{}, err
	}
	major := filepath.Base(filepath.Dir(s.Postgres))
	programs := &image.Layer{}
	share := "/usr/share/postgresql/" + major
	if err := programs.Folder(s.Postgres, filepath.Join(filepath.Dir(s.Postgres), "lib"), share); err != nil {
		return image.Image{}, fmt.Errorf("the files of PostgreSQL %s: %w (an image is made of Debian's package)", major, err)
	}
	kept := programs.Entries[:0]
	var linked []string
	for _, e := range programs.Entries {
		if strings.Contains(e.Path, "/bitcode/") || strings.Contains(e.Path, "/llvmjit") {
			continue // of the compiler for queries, which needs a library of 100 MB
		}
		kept = append(kept, e)
		if strings.HasPrefix(e.Path, s.Postgres) || strings.HasSuffix(e.Path, ".so") {
			linked = append(linked, e.Path)
		}
	}
	programs.Entries = kept
	if err := programs.Folder("/usr/share/zoneinfo/Etc"); err != nil {
		return image.Image{}, fmt.Errorf("time zones, which PostgreSQL needs (on Debian: `apt-get install tzdata`): %w", err)
	}
	libraries, err := image.Libraries(ctx, linked, layers...)
	if err != nil {
		return image.Image{}, err
	}
	all := append([]*image.Layer{base}, layers...)
	found := &image.Layer{} // where a shell looks for programs
	for _, e := range kept {
		if filepath.Dir(e.Path) == s.Postgres {
			found.Entries = append(found.Entries, image.Entry{Path: "/usr/local/bin/" + filepath.Base(e.Path), Link: e.Path})
		}
	}
	return image.Image{Name: Database, Layers: append(all, libraries, programs, found), Entrypoint: []string{"/usr/local/bin/postgres"}, User: "999:999"}, nil
}

// tagLength is how much of a hash a tag has.
const tagLength = 12

// kairship lists the images of the Dockerfile, without the pages of licences.
func (s Sources) kairship(base *image.Layer) ([]image.Image, string, error) {
	images := []image.Image{
		{Name: Registry + "/kairship-apiserver", Layers: []*image.Layer{base, image.Program("/kairship", s.APIServer)}, Entrypoint: []string{"/kairship"}, User: unprivileged},
		{Name: Registry + "/kairship-controller-manager", Layers: []*image.Layer{base, image.Program("/kairship", s.ControllerManager)}, Entrypoint: []string{"/kairship"}, User: unprivileged},
	}
	var both []byte
	for _, i := range images {
		digest, err := i.Digest()
		if err != nil {
			return nil, "", err
		}
		both = append(both, digest...)
	}
	tag := "real-" + image.Hash(both)[:tagLength]
	for i := range images {
		images[i].Name += ":" + tag
	}
	return images, tag, nil
}
