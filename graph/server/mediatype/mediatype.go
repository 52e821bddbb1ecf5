// Package mediatype chooses the media type of a response.
package mediatype

import (
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The media types of a response.
const (
	JSON    = "application/json"
	GraphQL = "application/graphql-response+json"
	Events  = "text/event-stream"
)

// How exactly a range of the Accept header names a media type.
const (
	matchNone = iota
	matchAll
	matchApplication
	matchExact
)

// preference is what an Accept header states about one media type.
type preference struct { //nolint:recvcheck // It is compared as a value and filled as a pointer.
	match   int
	quality float64
	order   int
}

// Negotiate chooses the media type of the response; false when the client
// accepts none that there is. A client that does not care gets application/json,
// which every client of the time before graphql-response+json understands.
func Negotiate(r *http.Request) (string, bool) {
	if strings.TrimSpace(accept(r)) == "" {
		return JSON, true
	}
	var plain, graphQL preference
	for mediaType, p := range preferences(r) {
		switch mediaType {
		case "*/*":
			plain.offer(matchAll, p)
			graphQL.offer(matchAll, p)
		case "application/*":
			plain.offer(matchApplication, p)
			graphQL.offer(matchApplication, p)
		case JSON:
			plain.offer(matchExact, p)
		case GraphQL:
			graphQL.offer(matchExact, p)
		}
	}
	switch {
	case graphQL.betterThan(plain):
		return GraphQL, true
	case plain.quality > 0:
		return JSON, true
	default:
		return JSON, false
	}
}

// EventsWanted reports whether a client takes server-sent events.
type EventsWanted struct {
	// Accepted: it names them. Preferred: it would rather have them than JSON, also
	// for an operation with one response.
	Accepted, Preferred bool
}

// NegotiateEvents reports whether the response may be a stream of server-sent events.
// A client has to name them: one that accepts anything expects a response that ends.
func NegotiateEvents(r *http.Request) EventsWanted {
	var events, other preference
	for mediaType, p := range preferences(r) {
		p.match = matchExact
		switch mediaType {
		case Events:
			events.offer(matchExact, p)
		case JSON, GraphQL:
			if !other.betterThan(p) {
				other = p
			}
		}
	}
	accepted := events.quality > 0
	return EventsWanted{Accepted: accepted, Preferred: accepted && events.betterThan(other)}
}

func accept(r *http.Request) string { return strings.Join(r.Header.Values("Accept"), ",") }

// preferences returns the media ranges that a client accepts. What is malformed is left out.
func preferences(r *http.Request) iter.Seq2[string, preference] {
	return func(yield func(string, preference) bool) {
		for i, part := range strings.Split(accept(r), ",") {
			mediaType, params, err := mime.ParseMediaType(strings.TrimSpace(part))
			if err != nil {
				continue
			}
			quality := 1.0
			if q, ok := params["q"]; ok {
				if quality, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			if !yield(mediaType, preference{quality: quality, order: i}) {
				return
			}
		}
	}
}

// offer keeps the most exact range that names the media type, as RFC 9110 section 12.5.1 asks.
func (p *preference) offer(match int, o preference) {
	if match > p.match {
		*p = o
		p.match = match
	}
}

func (p preference) betterThan(other preference) bool {
	switch {
	case p.quality != other.quality:
		return p.quality > other.quality
	case p.match != other.match:
		return p.match > other.match
	default:
		return p.order < other.order
	}
}

// IsJSON reports whether the body declares itself JSON in UTF-8, the only encoding that JSON has.
func IsJSON(header http.Header) bool {
	mediaType, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || mediaType != JSON {
		return false
	}
	charset, ok := params["charset"]
	return !ok || strings.EqualFold(charset, "utf-8")
}
