package podlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// maxRefusal limits the body of a refusal that is read. A Status is smaller by far.
const maxRefusal = 64 << 10

// errMissing means that a container has no log to read: it has not started, had no run before this
// one, or its pod no longer exists. It is no failure of the member.
var errMissing = errors.New("there is no log")

// request is what is asked about a container.
type request struct {
	of       Container
	tail     int
	since    *time.Time
	previous bool
	follow   bool
}

// url is the address of the log below an instance.
func (r *request) url() *url.URL {
	query := url.Values{"container": {r.of.Name}, "timestamps": {"true"}}
	if r.tail > 0 {
		query.Set("tailLines", strconv.Itoa(r.tail))
	}
	if r.since != nil {
		query.Set("sinceTime", r.since.UTC().Format(time.RFC3339))
	}
	if r.previous {
		query.Set("previous", "true")
	}
	if r.follow {
		query.Set("follow", "true")
	}
	path := []string{
		"apis", clusterv1alpha1.GroupName, "v1alpha1", "clusters", r.of.Cluster, "proxy",
		"api", "v1", "namespaces", r.of.Namespace, "pods", r.of.Pod, "log",
	}
	for i := range path {
		path[i] = url.PathEscape(path[i])
	}
	u := &url.URL{Scheme: "https", Host: "instance", RawQuery: query.Encode()}
	return u.JoinPath(path...)
}

// open asks the member for a log, as the user of the context. The caller closes it.
func open(ctx context.Context, client instanceproxy.Client, r *request) (io.ReadCloser, error) {
	sent, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url().String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("Accept", "application/json, */*")
	response, err := client.Transport().RoundTrip(sent)
	if err != nil {
		return nil, unanswered(ctx, client.Instance(), r.of.Cluster, err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	var status metav1.Status
	// What is no Status is judged by the code alone.
	if raw, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal)); err == nil && json.Unmarshal(raw, &status) != nil {
		status = metav1.Status{}
	}
	return nil, refusal(client.Instance(), r, response.StatusCode, &status)
}

// unanswered is the error of a log that could not be asked for, or broke off.
func unanswered(ctx context.Context, instance, cluster string, err error) error {
	if _, ours := errors.AsType[*apierror.Error](err); ours {
		return apierror.In(err, instance)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return apierror.In(apierror.Wrap(err, apierror.CodeInstanceUnavailable, "member cluster %q does not answer through instance %q", cluster, instance), instance)
}

// refusal is the error of an answer that is no log.
func refusal(instance string, r *request, code int, status *metav1.Status) error {
	member := r.of.Cluster
	byInstance := status.Details != nil && status.Details.Group == clusterv1alpha1.GroupName
	var err error
	switch {
	case code == http.StatusNotFound && byInstance:
		err = apierror.New(apierror.CodeInstanceUnavailable, "member cluster %q is no longer joined to instance %q", member, instance)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: the pod no longer exists", errMissing)
	case code == http.StatusBadRequest && r.previous:
		return fmt.Errorf("%w: the container had no run before this one", errMissing)
	case code == http.StatusBadRequest:
		return fmt.Errorf("%w: the container has not started, or the node cannot read its log", errMissing)
	case (code == http.StatusForbidden || code == http.StatusUnauthorized) && byInstance:
		err = apierror.New(apierror.CodeForbidden, "the roles that you have inside instance %q do not let you reach its member cluster %q (clusters/proxy)", instance, member)
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		err = apierror.New(apierror.CodeForbidden, "the roles that you have inside member cluster %q do not let you read logs there (pods/log)", member)
	default:
		err = apierror.New(apierror.CodeInstanceUnavailable, "member cluster %q does not answer through instance %q", member, instance)
	}
	return apierror.In(err, instance)
}

// scanner reads the lines of a log one by one, each of limited length.
type scanner struct {
	from *bufio.Reader
	of   Container
	at   time.Time
	// read is how many bytes were read.
	read int
}

func newScanner(from io.Reader, of Container) *scanner {
	return &scanner{from: bufio.NewReaderSize(from, 4<<10), of: of}
}

// next is the next line; io.EOF at the end.
func (s *scanner) next() (Line, error) {
	var text []byte
	whole, begun := true, false
	for {
		part, err := s.from.ReadSlice('\n')
		s.read += len(part)
		begun = begun || len(part) > 0
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		// The timestamp is not part of the text.
		if room := longestLine + len(time.RFC3339Nano) + 1 - len(text); len(part) > room {
			part, whole = part[:room], false
		}
		text = append(text, part...)
		switch {
		case ended, errors.Is(err, io.EOF) && begun:
			return s.line(text, whole), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return Line{}, err
		}
	}
}

// line makes a line of its bytes, which begin with the time.
func (s *scanner) line(text []byte, whole bool) Line {
	l := Line{Container: s.of, Truncated: !whole}
	if stamp, rest, ok := bytes.Cut(text, []byte{' '}); ok || len(stamp) > 0 {
		if at, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
			s.at, text = at, rest
			l.Time = &at
		}
	}
	l.at = s.at
	if len(text) > longestLine {
		text, l.Truncated = text[:longestLine], true
	}
	if l.Truncated {
		text = trimRune(text)
	}
	l.Text = strings.ToValidUTF8(string(text), string(utf8.RuneError))
	return l
}

// trimRune removes a rune that was cut in two from the end of a text.
func trimRune(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n]; utf8.RuneStart(last) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return text[:len(text)-n]
			}
			return text
		}
	}
	return text
}
