package passthrough

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// An instance's answer reaches clients and browsers from Kairship's address. So everything in an
// answer that names another address, or concerns its origin, must be confined to the instance: the
// operator of one instance could otherwise act in the others as every user of theirs.

// spokenForOrigin are headers by which an answer speaks for all of its origin.
var spokenForOrigin = []string{
	"Alt-Svc", "Clear-Site-Data", "Refresh", "Service-Worker-Allowed", "Set-Cookie", "Strict-Transport-Security", noSniff,
}

// noSniff is the header by which a browser takes an answer for what its media type says,
// and for nothing else. Kairship sends it with every answer, so an instance's own is dropped.
const noSniff = "X-Content-Type-Options"

// ofKairship begin headers that Kairship alone answers with: its own, and those
// that let pages of other sites read an answer.
var ofKairship = []string{"Kairship-", "Access-Control-"}

// inert are media types that no browser runs anything in.
var inert = []string{"application/json", "text/plain", "application/yaml", "application/cbor", "application/cbor-seq", "application/octet-stream"}

// confine changes the answer of an instance so that it is about the instance alone.
func (c *call) confine(response *http.Response) error {
	h := response.Header
	for _, name := range spokenForOrigin {
		h.Del(name)
	}
	for name := range h {
		if slices.ContainsFunc(ofKairship, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			h.Del(name)
		}
	}
	if response.StatusCode != http.StatusSwitchingProtocols && !isInert(h.Values("Content-Type")) {
		// Through an instance's own proxies any server of a member answers.
		h.Set("Content-Security-Policy", "sandbox")
	}
	c.nameRefuser(response)
	return c.confineRedirect(response)
}

// isInert reports what no browser runs, by the values of Content-Type. Of several a
// browser may take any.
func isInert(contentTypes []string) bool {
	if len(contentTypes) != 1 {
		return false
	}
	media, _, err := mime.ParseMediaType(contentTypes[0])
	return err == nil && (slices.Contains(inert, media) || strings.HasPrefix(media, "application/vnd.kubernetes."))
}

var errElsewhere = errors.New("the instance redirects elsewhere")

// confineRedirect keeps redirects inside the instance. Clients follow a redirect with everything
// they sent: client-go sends its token to any host that it names, and repeats a DELETE.
func (c *call) confineRedirect(response *http.Response) error {
	location := response.Header.Get("Location")
	if location == "" || response.StatusCode < 300 || response.StatusCode > 399 {
		return nil
	}
	inside, err := c.inside(response.Request, location)
	if err != nil {
		return apierror.Wrap(err, apierror.CodeInstanceUnavailable, "instance %q redirects this request to somewhere else, which is not followed", c.instance)
	}
	response.Header.Set("Location", inside)
	return nil
}

// inside is the address, at Kairship, of what an instance redirects to.
func (c *call) inside(sent *http.Request, location string) (string, error) {
	to, err := url.Parse(location)
	if err != nil || sent == nil {
		return "", errElsewhere // Not the parser's error, which repeats what it read.
	}
	to = sent.URL.ResolveReference(to)
	if to.Scheme != sent.URL.Scheme || to.Host != sent.URL.Host || to.Opaque != "" {
		return "", errElsewhere
	}
	// The endpoint of an instance may have a path of its own.
	base, ok := strings.CutSuffix(sent.URL.EscapedPath(), c.target.EscapedPath())
	if !ok {
		return "", errElsewhere
	}
	rest, ok := strings.CutPrefix(to.EscapedPath(), base)
	if !ok || !strings.HasPrefix(rest, "/") {
		return "", errElsewhere
	}
	if _, err := parseTarget(rest, ""); err != nil {
		return "", errElsewhere
	}
	address := url.URL{RawQuery: to.RawQuery, Fragment: to.Fragment, RawFragment: to.RawFragment}
	return PathOf(c.instance) + rest + address.String(), nil
}
