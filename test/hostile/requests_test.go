package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// attack is one request.
type attack struct {
	kind   string
	method string
	path   string
	header http.Header
	body   []byte
	// slow has the body sent a byte at a time, and never to its end.
	slow bool
	// raw is sent as it is, instead of a request.
	raw string
	// socket has the body sent as the payload of an operation over a WebSocket.
	socket bool
	// codes are those of which the answer has one.
	codes []string
	// statuses are those that are an answer alone, as docs/limits.md says: net/http
	// answers so what it cannot read.
	statuses []int
}

const (
	jsonType     = "application/json"
	responseType = "application/graphql-response+json"
	eventType    = "text/event-stream"
)

// post is a POST with a body, which is to be refused with one of the codes.
func post(kind, body string, codes ...string) attack {
	return attack{
		kind: kind, method: http.MethodPost, path: "/graphql", body: []byte(body), codes: codes,
		header: http.Header{"Content-Type": {jsonType}, "Accept": {responseType}},
	}
}

// kinds make attacks. Those further up come more often: see fuzz.
var kinds = []func(fuzzer) attack{
	document("deep", deep, "QUERY_TOO_COMPLEX"),
	document("wide", wide, "QUERY_TOO_COMPLEX"),
	document("aliased", aliased, "QUERY_TOO_COMPLEX"),
	document("root fields", roots, "QUERY_TOO_COMPLEX"),
	document("cyclic fragments", cyclic, "INVALID"),
	document("doubling fragments", doubling, "QUERY_TOO_COMPLEX"),
	document("repeated fields", repeated, "QUERY_TOO_COMPLEX"),
	document("dear", dear, "QUERY_TOO_COMPLEX"),
	document("introspection", introspecting, "INVALID", "QUERY_TOO_COMPLEX"),
	document("directives", directed, "INVALID", "QUERY_TOO_COMPLEX"),
	document("long names", longNamed, "QUERY_TOO_COMPLEX"),
	document("overlong texts", overlong, "INVALID", "STALE_CURSOR"),
	document("numbers out of range", outOfRange, "INVALID"),
	document("broken documents", broken, "INVALID", "QUERY_TOO_COMPLEX"),
	document("unknown fields", unknown, "INVALID"),
	document("representations", representations, "INVALID", "QUERY_TOO_COMPLEX"),
	variables, input, duplicates, encoded, garbage, batch, multipart, bomb, persisted, byGet, headers, otherwise, unauthenticated, framing, slow,
}

// document makes attacks of documents, over POST as JSON, as events and over GET.
func document(kind string, text func(fuzzer) string, codes ...string) func(fuzzer) attack {
	return func(f fuzzer) attack {
		doc := text(f)
		a := post(kind, `{"query":`+quoted(doc)+`}`, codes...)
		switch f.IntN(8) {
		case 0:
			a.header.Set("Accept", eventType)
		case 1:
			a.header.Set("Accept", jsonType)
		case 2:
			if len(doc) > 20_000 {
				return a // No address is so long.
			}
			a.method, a.path, a.body = http.MethodGet, "/graphql?query="+url.QueryEscape(doc), nil
			a.header.Del("Content-Type")
		case 3:
			a.socket = true
		}
		return a
	}
}

// variables are many, deep or of another kind.
func variables(f fuzzer) attack {
	const query = `"query":"query($v:InstanceFilter,$n:Int){instances(first:$n,filter:$v){nodes{name}}}"`
	value := f.any(
		func() string { return `{"v":` + f.repeat("[", 101, 50_000)() + `}` },
		func() string { return `{"v":[` + f.repeat("{},", 50_001, 200_000)() + `{}]}` },
		func() string { return `{"v":{"name":[` + f.repeat(`"a",`, 50_001, 150_000)() + `"a"]}}` },
		func() string { return `{"n":` + f.repeat("9", 20, 10_000)() + `}` },
		func() string { return `{"v":{"` + f.word(20_000) + `":1}}` },
		func() string { return `{"v":{"mode":["` + f.word(500) + `"]}}` },
		is(`{"n":1e999}`), is(`{"n":"x"}`), is(`{"n":[[[1]]]}`), is(`{"v":7}`), is(`[]`), is(`"x"`),
	)
	return post("variables", `{`+query+`,"variables":`+value+`}`, "INVALID", "QUERY_TOO_COMPLEX")
}

// input is larger than a body may be.
func input(f fuzzer) attack {
	return post("large bodies", `{"query":"{viewer{username}}","variables":{"a":"`+strings.Repeat("x", f.between(1<<20, 3<<20))+`"}}`, "INVALID")
}

func duplicates(f fuzzer) attack {
	return post("duplicate keys", `{"query":"{viewer{username}}",`+strings.Repeat(`"query":"mutation{x}",`, f.between(1, 2000))+`"x":1}`, "INVALID")
}

// encoded is no UTF-8, or reports that it is something else.
func encoded(f fuzzer) attack {
	a := post("bad encoding", `{"query":"{viewer{username}}","operationName":"`+f.one("\xff", "\xc3\x28", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80")+`"}`, "INVALID")
	if f.IntN(3) == 0 {
		a.header.Set("Content-Type", f.one("application/json; charset=utf-16", "application/json; charset=utf-7", "application/json;", "text/html", "*/*", "application/graphql", ""))
		a.body = []byte(`{"query":"{viewer{username}}"`)
		a.codes = append(a.codes, "FORBIDDEN")
	}
	return a
}

// garbage is no JSON.
func garbage(f fuzzer) attack {
	body := make([]byte, f.between(1, 4000))
	for i := range body {
		body[i] = byte(f.IntN(256))
	}
	body[0] = byte(f.between(0, 8)) // No text of JSON begins so.
	return post("garbage", string(body), "INVALID")
}

func batch(f fuzzer) attack {
	return post("batches", "["+strings.Repeat(`{"query":"{viewer{username}}"},`, f.between(1, 3000))+`{"query":"{viewer{username}}"}]`, "INVALID")
}

// multipart is what clients that upload files send.
func multipart(f fuzzer) attack {
	part := "--x\r\nContent-Disposition: form-data; name=\"" + f.word(20) + "\"; filename=\"a\"\r\n\r\n" + f.word(50) + "\r\n"
	a := post("multipart", strings.Repeat(part, f.between(1, 2000))+"--x--\r\n", "INVALID")
	a.header.Set("Content-Type", "multipart/form-data; boundary=x")
	return a
}

// bombs are texts of many megabytes, compressed.
var bombs = func() (all [][]byte) {
	for _, size := range []int{1 << 20, 10 << 20, 50 << 20} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(`{"query":"{viewer{username}}","variables":{"a":"`))
		zeros := bytes.Repeat([]byte{'0'}, 1<<20)
		for range size >> 20 {
			_, _ = w.Write(zeros)
		}
		_ = w.Close()
		all = append(all, b.Bytes())
	}
	return all
}()

func bomb(f fuzzer) attack {
	a := post("compressed bombs", "", "INVALID")
	a.body = bombs[f.IntN(len(bombs))]
	a.header.Set("Content-Encoding", f.one("gzip", "GZIP", "deflate", "br", "zstd", "gzip, gzip"))
	return a
}

// persisted names documents by hashes that are none of them.
func persisted(f fuzzer) attack {
	hash := f.any(func() string { return f.word(64) }, is(strings.Repeat("0", 64)), func() string { return f.word(5000) }, is("../../etc/passwd"), is(""))
	query := f.one("", `"query":"{viewer{username}}",`)
	return post("hashes", `{`+query+`"extensions":{"persistedQuery":{"version":`+f.one("1", "1", "2", `"1"`, "[]")+`,"sha256Hash":`+quoted(hash)+`}}}`,
		"INVALID", "PERSISTED_QUERY_NOT_FOUND")
}

// byGet has what is wrong in the address.
func byGet(f fuzzer) attack {
	query := f.any(
		is("query=%zz"), is("query=%ff"), is("variables={"), is("query={viewer{username}}&variables=["), is("extensions=7&query={viewer{username}}"), is(""),
		is("query=mutation{x}"), is("query=subscription{instanceChanged{type}}"),
		func() string { return "query={viewer{username}}&variables=" + f.repeat("[", 101, 5000)() },
		func() string { return "query=" + f.repeat("a", 70_000, 200_000)() },
	)
	return attack{
		kind: "addresses", method: http.MethodGet, path: "/graphql?" + query, header: http.Header{"Accept": {responseType}},
		codes: []string{"INVALID", "QUERY_TOO_COMPLEX"}, statuses: []int{http.StatusRequestHeaderFieldsTooLarge},
	}
}

// headers are large, or many.
func headers(f fuzzer) attack {
	a := post("huge headers", `{"query":"{nothing}"}`, "INVALID", "UNAUTHENTICATED")
	a.statuses = []int{http.StatusRequestHeaderFieldsTooLarge, http.StatusBadRequest}
	switch f.IntN(4) {
	case 0:
		a.header.Set("X-"+f.word(5), strings.Repeat("x", f.between(60<<10, 300<<10)))
	case 1:
		for i := range f.between(500, 5000) {
			a.header.Set(fmt.Sprintf("X-%d", i), f.word(20))
		}
	case 2:
		a.header.Set("Kairship-Consistency-Token", f.word(f.between(1000, 50_000)))
	default:
		a.header.Set("Traceparent", f.word(f.between(55, 10_000)))
		a.header.Set("Accept", strings.Repeat("a/b;q=0.1,", f.between(10, 3000))+responseType)
	}
	return a
}

// otherwise is another method, or another address.
func otherwise(f fuzzer) attack {
	a := post("methods", `{"query":"{viewer{username}}"}`, "INVALID")
	a.method = f.one("PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "HEAD"+f.word(3))
	if f.IntN(3) == 0 {
		a.header.Set("Accept", f.one("image/png", "text/html", "application/xml;q=1", "application/json;q=0"))
		a.method = http.MethodPost
	}
	return a
}

// unauthenticated has credentials that are none.
func unauthenticated(f fuzzer) attack {
	a := post("credentials", `{"query":"{viewer{username}}"}`, "UNAUTHENTICATED")
	a.header.Set("Authorization", f.one("", "Basic YWRtaW46YWRtaW4=", "Bearer", "Bearer ", "Bearer a b", "Digest x", f.word(50)))
	if a.header.Get("Authorization") == "" {
		a.header.Set("Authorization", "none")
	}
	return a
}

// framing is HTTP that is none, or that two servers read differently.
func framing(f fuzzer) attack {
	const begin = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	return attack{
		kind: "framing", codes: []string{"UNAUTHENTICATED"}, statuses: []int{http.StatusBadRequest, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusUnauthorized, http.StatusExpectationFailed},
		raw: f.one(
			begin+"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}{}{}",
			begin+"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
			begin+"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
			begin+"Content-Length: -1\r\n\r\n",
			begin+"Content-Length: 99999999999999999999\r\n\r\n",
			begin+"Expect: the-moon\r\nContent-Length: 0\r\n\r\n",
			begin+" folded: x\r\n\r\n",
			begin+"Bad Header: x\r\n\r\n",
			begin+"X: \x00\r\n\r\n",
			"POST /graphql HTTP/9.9\r\nHost: x\r\n\r\n",
			"POST /graphql HTTP/1.1\r\n\r\n",
			f.word(f.between(1, 3000))+"\r\n\r\n",
			"PRI * HTTP/2.0\r\n\r\nxx\r\n\r\n",
			"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+f.word(100)+"\r\n\r\n",
		),
	}
}

// slow sends its body a byte at a time.
func slow(f fuzzer) attack {
	a := post("slow bodies", `{"query":"{viewer{username}}","x":"`+f.word(5000)+`"}`, "INVALID")
	a.slow = true
	return a
}
