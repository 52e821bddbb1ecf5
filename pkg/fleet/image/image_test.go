package image

import (
	"errors"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestParse(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, tt := range []struct {
		reason, image string
		want          reference
	}{
		{"a name alone", "web", reference{repository: "web"}},
		{"a path is no registry", "shop/web:1", reference{repository: "shop/web", tag: "1"}},
		{"a registry has a dot", "example.com/shop/web:1", reference{"example.com", "shop/web", "1", ""}},
		{"a port is no tag", "localhost:5000/web", reference{registry: "localhost:5000", repository: "web"}},
		{"this machine", "localhost/web", reference{registry: "localhost", repository: "web"}},
		{"a digest", "example.com/web@" + digest, reference{registry: "example.com", repository: "web", digest: digest}},
		{"a tag and a digest", "web:1@" + digest, reference{repository: "web", tag: "1", digest: digest}},
	} {
		if got := parse(tt.image); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.reason, got, tt.want)
		}
	}
}

func TestFilterIsChecked(t *testing.T) {
	text := func(s string) *string { return &s }
	for argument, f := range map[string]Filter{
		"filter.registry": {Registry: text("example.com/shop")}, "filter.repository": {Repository: text("")}, "filter.tag": {Tag: text("1.*")},
		"filter.digest": {Digest: text("50d8")}, "filter.text": {Text: text(" ")},
	} {
		_, err := f.images()
		if is, ok := errors.AsType[*apierror.Error](err); !ok || is.Code != apierror.CodeInvalid || is.Argument != argument {
			t.Errorf("%s: got %v", argument, err)
		}
	}
	f := Filter{Registry: text("example.com"), Repository: text("shop/"), Tag: text("1.2"), Digest: text("sha256:" + strings.Repeat("0", 64)), Text: text("A b")}
	if by, err := f.images(); err != nil || by.Registry != "example.com" || by.Repository != "shop/" || by.Tag != "1.2" || by.Digest == "" || len(by.Words) != 2 {
		t.Errorf("got %+v, %v", by, err)
	}
	for _, first := range []int{0, 101} {
		if _, err := Users(&first); !apierror.Is(err, apierror.CodeInvalid) {
			t.Errorf("%d users: got %v", first, err)
		}
	}
}
