package workload

import "testing"

func TestPartsOf(t *testing.T) {
	const digest = "sha256:50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c"
	for _, tt := range []struct {
		reason, image string
		want          imageParts
		again         string
	}{
		{"a name alone", "web", imageParts{repository: "web"}, "web"},
		{"a path is no registry", "shop/web:1", imageParts{repository: "shop/web", tag: "1"}, "shop/web:1"},
		{"a registry has a dot", "example.com/shop/web:1", imageParts{registry: "example.com", repository: "shop/web", tag: "1"}, "example.com/shop/web:1"},
		{"a port is no tag", "localhost:5000/web", imageParts{registry: "localhost:5000", repository: "web"}, "localhost:5000/web"},
		{"this machine", "localhost/web", imageParts{registry: "localhost", repository: "web"}, "localhost/web"},
		{"a digest", "example.com/web@" + digest, imageParts{registry: "example.com", repository: "web", digest: digest}, "example.com/web@" + digest},
		{"a tag hides a digest", "web:1@" + digest, imageParts{repository: "web", tag: "1"}, "web:1"},
	} {
		got := partsOf(tt.image)
		if got != tt.want || got.String() != tt.again {
			t.Errorf("%s: got %+v, and %s of it", tt.reason, got, got.String())
		}
	}
	p := partsOf("web:1")
	p.setVersion("not a tag")
	if p.String() != "web:1" {
		t.Errorf("what is no tag made %s", p.String())
	}
}
