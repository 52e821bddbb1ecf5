package workload

import (
	"regexp"
	"strings"
)

// imageParts are the components of an image that an image overrider changes, as
// Karmada takes them apart: a tag hides a digest behind it.
type imageParts struct{ registry, repository, tag, digest string }

var (
	imageTag    = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	imageDigest = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[[:xdigit:]]{32,}$`)
)

func partsOf(image string) imageParts {
	name, digest, _ := strings.Cut(image, "@")
	p := imageParts{digest: digest}
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		p.tag, p.digest, name = name[i+1:], "", name[:i]
	}
	p.repository = name
	if first, rest, several := strings.Cut(name, "/"); several && (strings.ContainsAny(first, ".:") || first == "localhost") {
		p.registry, p.repository = first, rest
	}
	return p
}

func (p *imageParts) version() string {
	if p.tag != "" {
		return p.tag
	}
	return p.digest
}

// setVersion sets the tag or the digest, whichever the text is; other text changes nothing.
func (p *imageParts) setVersion(text string) {
	switch {
	case imageTag.MatchString(text):
		p.tag, p.digest = text, ""
	case imageDigest.MatchString(text):
		p.tag, p.digest = "", text
	}
}

func (p *imageParts) String() string {
	name := p.repository
	if p.registry != "" {
		name = p.registry + "/" + name
	}
	switch {
	case p.tag != "":
		return name + ":" + p.tag
	case p.digest != "":
		return name + "@" + p.digest
	}
	return name
}
