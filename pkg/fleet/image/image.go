// Package image answers queries about the images that workloads ask for and pods run.
package image

import (
	"regexp"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/projection"
)

// TypeName is the noun's name in the schema.
const TypeName = "Image"

// Connection is a page of images.
type Connection = page.Connection[*Image]

// Edge is an image with its place in the list.
type Edge = page.Edge[*Image]

// Cluster is how many pods of a member cluster have an image.
type Cluster struct {
	InstanceName, ClusterName string
	PodCount                  int
}

// Image is an image as templates and pods name it.
type Image struct {
	Reference string
	reference
	item *projection.ImageItem
}

// reference has the parts of the name of an image; empty for those that it does not have.
type reference struct{ registry, repository, tag, digest string }

func parse(image string) reference {
	var r reference
	image, r.digest, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image, r.tag = image[:i], image[i+1:]
	}
	r.repository = image
	if first, rest, several := strings.Cut(image, "/"); several && (strings.ContainsAny(first, ".:") || first == "localhost") {
		r.registry, r.repository = first, rest
	}
	return r
}

func newImage(item *projection.ImageItem) *Image {
	return &Image{Reference: item.Reference, reference: parse(item.Reference), item: item}
}

// Registry is the host that it is pulled from; nil where the nodes choose it.
func (i *Image) Registry() *string { return object.Optional(i.registry) }

// Repository is its name in the registry.
func (i *Image) Repository() string { return i.repository }

// Tag is its tag; nil for none.
func (i *Image) Tag() *string { return object.Optional(i.tag) }

// Digest is its digest; nil for none.
func (i *Image) Digest() *string { return object.Optional(i.digest) }

// PodCount is how many pods have it.
func (i *Image) PodCount() int { return int(i.item.Pods) }

// WorkloadCount is how many workloads have it in their template.
func (i *Image) WorkloadCount() int { return int(i.item.Workloads) }

// Filter says which images to list.
type Filter struct {
	Instances  []string
	Namespaces []string
	Cluster    []string
	Registry   *string
	Repository *string
	Tag        *string
	Digest     *string
	Text       *string
}

// OrderField is what images can be ordered by.
type OrderField string

// The fields.
const (
	OrderFieldReference OrderField = "REFERENCE"
	OrderFieldPods      OrderField = "PODS"
)

// Order is the order of a list of images.
type Order struct {
	Field     OrderField
	Direction object.Direction
}

var (
	tag    = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	digest = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,}$`)
)

// maxText bounds a part of the name of an image.
const maxText = 512

// images is the filter by the names of images. Its errors name the argument.
func (f *Filter) images() (projection.ImageFilter, error) {
	var by projection.ImageFilter
	words, err := listing.Words(f.Text)
	if err != nil {
		return by, err
	}
	by.Words = words
	text := func(argument string, value *string, into *string, valid func(string) bool, what string) {
		if value == nil || err != nil {
			return
		}
		if *value == "" || len(*value) > maxText || !valid(*value) {
			err = apierror.Invalid("filter."+argument, "%s", what)
			return
		}
		*into = *value
	}
	anything := func(string) bool { return true }
	text("registry", f.Registry, &by.Registry, func(s string) bool { return !strings.Contains(s, "/") }, `Give the host of a registry, for example "registry.example.com"`)
	text("repository", f.Repository, &by.Repository, anything, `Give the beginning of a repository, with or without its registry, for example "shop/frontend"`)
	text("tag", f.Tag, &by.Tag, tag.MatchString, `Give a whole tag, for example "1.7.2"`)
	text("digest", f.Digest, &by.Digest, digest.MatchString, `Give a whole digest: "sha256:" and 64 hexadecimal digits`)
	return by, err
}
