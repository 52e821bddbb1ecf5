package passthrough

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxRefusal limits the body of a refusal that is read. A Status is smaller by far.
const maxRefusal = 64 << 10

// nameRefuser adds to the message of a refusal which API server refused. The
// message itself names the user and the resource alone, and through Karmada's proxy
// both the instance and the member judge a request.
func (c *call) nameRefuser(response *http.Response) {
	if response.StatusCode != http.StatusForbidden || response.Header.Get("Content-Encoding") != "" || !isJSON(response.Header) {
		return
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal+1))
	if err != nil || len(body) == 0 || len(body) > maxRefusal {
		response.Body = &prefixed{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
		return
	}
	named, message := withRefuser(body, c.what, c.instance)
	if message != "" && response.Request != nil && asksDiscovery(response.Request) {
		named = []byte(message + "\n")
		response.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	response.Body = &prefixed{bytes.NewReader(named), response.Body}
	response.ContentLength = int64(len(named))
	response.Header.Set("Content-Length", strconv.Itoa(len(named)))
}

// prefixed is a body of which something was read before.
type prefixed struct {
	io.Reader
	io.Closer
}

func isJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// withRefuser returns a Status with the refuser in its message, and that message;
// anything else as it is, and no message.
func withRefuser(body []byte, of request, instance string) (named []byte, message string) {
	var status metav1.Status
	// Fields that this version of the type does not know stay.
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" || json.Unmarshal(body, &fields) != nil {
		return body, ""
	}
	message = fmt.Sprintf("%s (refused by %s)", status.Message, refuser(of, status.Details, instance))
	quoted, err := json.Marshal(message)
	if err != nil {
		return body, ""
	}
	fields["message"] = quoted
	if named, err = json.Marshal(fields); err != nil {
		return body, ""
	}
	return append(named, '\n'), message
}

// refuser returns the API server that refused, for a person. Details of a Status
// name the resource that was refused: below Karmada's proxy that is the proxy itself
// where the instance refuses.
func refuser(of request, details *metav1.StatusDetails, instance string) string {
	throughProxy := of.group == clusterv1alpha1.GroupName && of.resource == "clusters" && of.subresource == "proxy"
	aboutProxy := details != nil && details.Group == clusterv1alpha1.GroupName && details.Kind == "clusters"
	if throughProxy && !aboutProxy {
		return fmt.Sprintf("member cluster %q of instance %q", of.name, instance)
	}
	return fmt.Sprintf("instance %q", instance)
}
