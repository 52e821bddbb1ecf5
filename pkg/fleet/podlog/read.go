package podlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kairship-io/kairship/pkg/fleet/memberproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// errMissing means that a container has no log to read: it has not started, had no run before this
// one, or its pod has no node yet or no longer exists. It is no failure of the member.
var errMissing = errors.New("there is no log")

// withoutLog are the beginnings of what a kubelet writes, in the place of lines, where the log of a container no longer exists: the
// runtime has forgotten the container, or the file is removed (kubelet of Kubernetes 1.35).
var withoutLog = []string{"unable to retrieve container logs for ", "failed to try resolving symlinks in path "}

// request is what is asked about a container.
type request struct {
	of       Container
	tail     int
	since    *time.Time
	previous bool
	follow   bool
}

// open asks the member for a log, as the user of the context. The caller closes it.
func open(ctx context.Context, client instanceproxy.Client, r *request) (io.ReadCloser, error) {
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
	body, err := memberproxy.Open(ctx, client, &memberproxy.Request{
		Member: r.of.Cluster, Path: []string{"api", "v1", "namespaces", r.of.Namespace, "pods", r.of.Pod, "log"}, Query: query,
	})
	if refused, is := errors.AsType[*memberproxy.RefusalError](err); is {
		return nil, refusal(r, refused)
	}
	return body, err
}

// refusal is the error of an answer that is no log.
func refusal(r *request, refused *memberproxy.RefusalError) error {
	switch {
	case refused.Code == http.StatusNotFound && !refused.ByInstance:
		return fmt.Errorf("%w: the pod no longer exists", errMissing)
	case refused.Code == http.StatusNoContent: // So says an API server of a pod that no scheduler has placed.
		return fmt.Errorf("%w: the pod has no node yet", errMissing)
	case refused.Code == http.StatusBadRequest && r.previous:
		return fmt.Errorf("%w: the container had no run before this one", errMissing)
	case refused.Code == http.StatusBadRequest:
		return fmt.Errorf("%w: the container has not started, or the node cannot read its log", errMissing)
	}
	return refused.Explain("read logs there (pods/log)")
}

// interrupted is the error of a log that was not read to its end.
func interrupted(ctx context.Context, client instanceproxy.Client, member string, err error) error {
	if errors.Is(err, errMissing) {
		return err
	}
	return memberproxy.Unanswered(ctx, client.Instance(), member, err)
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

// next is the next line; io.EOF at the end, and errMissing where the node has no log.
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
			line := s.line(text, whole)
			begins := func(prefix string) bool { return strings.HasPrefix(line.Text, prefix) }
			if line.at.IsZero() && slices.ContainsFunc(withoutLog, begins) {
				return Line{}, fmt.Errorf("%w: the node no longer has it", errMissing)
			}
			return line, nil
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
