package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// TestErrorsOfResolvers says what a caller sees of an error, and what the log has besides.
func TestErrorsOfResolvers(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7: secret")
	unavailable := &apierror.Error{Code: apierror.CodeInstanceUnavailable, Message: "instance beta does not answer", Instance: "beta", Cause: secret}
	for _, tt := range []struct {
		name      string
		err       error
		want      map[string]any
		message   string
		wantCause string // in the log; "" for no line but that of the request
		why       string
	}{
		{
			name: "argument", err: apierror.Invalid("filter.labelSelector", "%q is no selector", "a=="),
			message: `"a==" is no selector`, want: map[string]any{"code": "INVALID", "argument": "filter.labelSelector"},
			why: "the caller's mistake, told in full and not worth a line",
		},
		{
			name: "instance", err: unavailable,
			message: "instance beta does not answer", want: map[string]any{"code": "INSTANCE_UNAVAILABLE", "instance": "beta"},
			wantCause: "dial tcp 10.0.0.7: secret", why: "the operator needs the cause, the caller the instance",
		},
		{
			name: "deep in a chain", err: fmt.Errorf("resolve secret: %w", errors.Join(errors.New("secret"), unavailable)),
			message: "instance beta does not answer", want: map[string]any{"code": "INSTANCE_UNAVAILABLE", "instance": "beta"},
			wantCause: "dial tcp 10.0.0.7: secret", why: "what was wrapped around it was not written for callers",
		},
		{
			name: "inside of a GraphQL error", err: gqlerror.Wrap(apierror.NotFound("Instance", "x")),
			message: `Instance "x" was not found`, want: map[string]any{"code": "NOT_FOUND"},
			why: "gqlgen wraps errors itself",
		},
		{
			name: "unknown", err: secret,
			message: "internal error", want: map[string]any{"code": "INTERNAL"},
			wantCause: "dial tcp 10.0.0.7: secret", why: "that text was not checked",
		},
		{
			name: "unknown GraphQL error", err: gqlerror.Errorf("secret"),
			message: "internal error", want: map[string]any{"code": "INTERNAL"},
			wantCause: "input:1:2: fail secret", why: "that text was not checked either",
		},
		{
			name: "extensions of a GraphQL error", err: &gqlerror.Error{Message: "secret", Extensions: map[string]any{"password": "secret"}},
			message: "internal error", want: map[string]any{"code": "INTERNAL"},
			wantCause: "input:1:2: fail secret", why: "only our own extensions are shown",
		},
		{
			name: "deadline", err: fmt.Errorf("list: %w", context.DeadlineExceeded),
			message: "the deadline of the request passed before this part was done", want: map[string]any{"code": "TIMEOUT"},
			why: "a part that was not done in time",
		},
		{
			name: "cancelled by something else", err: context.Canceled,
			message: "internal error", want: map[string]any{"code": "INTERNAL"},
			wantCause: "context canceled", why: "the request itself goes on, so this is a bug",
		},
		{
			name: "no message for a refusal's cause", err: apierror.Wrap(secret, apierror.CodeConflict, "it moved"),
			message: "it moved", want: map[string]any{"code": "CONFLICT"},
			why: "what a caller did is not a failure of the server",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, map[string]error{"x": tt.err}, nil)
			_, body := s.query(t, `query Op {fail(name:"x")}`, nil)
			errs := body["errors"].([]any)
			if len(errs) != 1 {
				t.Fatalf("got %d errors, want 1: %v", len(errs), errs)
			}
			tt.want["traceId"] = traceID
			want := map[string]any{
				"message": tt.message, "path": []any{"fail"}, "extensions": tt.want,
				"locations": []any{map[string]any{"line": 1.0, "column": 11.0}},
			}
			if d := cmp.Diff(want, errs[0]); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.why, d)
			}
			if strings.Contains(fmt.Sprint(body), "secret") {
				t.Errorf("the response shows what it must not: %v", body)
			}
			lines := s.log.lines(t)
			if tt.wantCause == "" {
				if len(lines) != 1 {
					t.Errorf("got %d log lines, want 1: %s\n%s", len(lines), tt.why, s.log)
				}
				return
			}
			if len(lines) != 2 {
				t.Fatalf("got %d log lines, want the cause and the request:\n%s", len(lines), s.log)
			}
			cause := strings.Replace(lines[0]["cause"].(string), "input:1:11:", "input:1:2:", 1)
			if cause != tt.wantCause || lines[0]["traceId"] != traceID || lines[0]["path"] != "fail" || lines[0]["operation"] != "Op" {
				t.Errorf("the log does not say what failed: %v", lines[0])
			}
		})
	}
}

func TestOneCauseIsLoggedOnce(t *testing.T) {
	down := func(instance string) error {
		return &apierror.Error{Code: apierror.CodeInstanceUnavailable, Message: "down", Instance: instance, Cause: errors.New("connection refused")}
	}
	s := start(t, map[string]error{"beta": down("beta"), "alpha": down("alpha")}, nil)
	_, body := s.query(t, `{items(first:50){a:fail(name:"beta") b:fail(name:"alpha")}}`, nil)
	if n := len(body["errors"].([]any)); n != 100 {
		t.Errorf("got %d errors, want one per failing part: 100", n)
	}
	lines := s.log.lines(t)
	if len(lines) != 3 {
		t.Fatalf("got %d lines, want one per instance and that of the request:\n%s", len(lines), s.log)
	}
	if d := cmp.Diff(map[string]any{"INSTANCE_UNAVAILABLE": 100.0}, lines[2]["errors"]); d != "" {
		t.Errorf("the line of the request counts wrong (-want +got):\n%s", d)
	}
}

func TestErrorsComeInTheOrderOfTheResponse(t *testing.T) {
	s := start(t, map[string]error{"x": apierror.New(apierror.CodeNotFound, "gone")}, nil)
	for range 20 {
		_, body := s.query(t, `{items(first:12){b:fail(name:"x") a:fail(name:"x")}}`, nil)
		var got []string
		for _, e := range body["errors"].([]any) {
			got = append(got, fmt.Sprint(e.(map[string]any)["path"]))
		}
		var want []string
		for i := range 12 {
			want = append(want, fmt.Sprintf("[items %d a]", i), fmt.Sprintf("[items %d b]", i))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("order (-want +got):\n%s", d)
		}
	}
}

func TestPanic(t *testing.T) {
	s := start(t, nil, nil)
	r, body := s.query(t, `query Op {panic hello}`, nil)
	if r.status != http.StatusOK || body["data"].(map[string]any)["hello"] != "hello" {
		t.Errorf("the rest of the data is missing: %d %s", r.status, r.body)
	}
	if strings.Contains(r.body, "secret") || strings.Contains(r.body, "goroutine") || codeOf(body) != "INTERNAL" {
		t.Errorf("the response shows the panic: %s", r.body)
	}
	lines := s.log.lines(t)
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want the panic and the request:\n%s", len(lines), s.log)
	}
	stack, _ := lines[0]["stack"].(string)
	if lines[0]["cause"] != "panic: secret-of-the-panic" || !strings.Contains(stack, "harness_test.go") {
		t.Errorf("the log does not lead to the panic: %v", lines[0])
	}
}

// TestArguments says which input an error names, in the words of the schema.
func TestArguments(t *testing.T) {
	s := start(t, nil, nil)
	byVariable := "query Q($f:Filter,$c:Color,$n:Int,$w:Word,$unused:Int){items(filter:$f,color:$c,first:$n,word:$w){name} x:hello(name:\"{}\") @skip(if:true)}"
	byVariable = strings.Replace(byVariable, ",$unused:Int", "", 1)
	for _, tt := range []struct {
		name      string
		document  string
		variables map[string]any
		want      string
		status    int
		why       string
	}{
		{"unknown enum value", `{items(color:BLUE){name}}`, nil, "color", 400, "validation, by its place in the document"},
		{"unknown enum value, deep", `{items(filter:{and:[{},{colors:[RED,BLUE]}]}){name}}`, nil, "filter.and[1].colors[1]", 400, "the whole way to the value"},
		{"unknown enum value in a fragment", `{...F} fragment F on Query{items(color:BLUE){name}}`, nil, "color", 400, "fragments are looked into"},
		{"wrong type", `{items(first:"x"){name}}`, nil, "first", 400, "validation"},
		{"unknown input field", `{items(filter:{nope:1}){name}}`, nil, "filter.nope", 400, "validation"},
		{"unknown argument", `{items(nope:1){name}}`, nil, "nope", 400, "the rule points at the field; its text names the argument"},
		{"missing argument", `{fail}`, nil, "name", 400, "the rule points at the field; its text names the argument"},
		{"default value", `query($c:Color=BLUE){items(color:$c){name}}`, nil, "$c", 400, "the fault is where the variable is declared"},
		{"variable of the wrong type for its place", `query($s:String){items(first:$s){name}}`, nil, "first", 400, "validation, by the place of use"},
		{"enum in a variable", byVariable, map[string]any{"c": "BLUE"}, "color", 400, "coercion, by the argument that uses the variable"},
		{"enum of the wrong case in a variable", byVariable, map[string]any{"c": "red"}, "color", 400, "names are case-sensitive"},
		{"object in a variable", byVariable, map[string]any{"f": map[string]any{"colors": []any{"RED", "BLUE"}}}, "filter.colors[1]", 400, "the way goes on inside of the variable"},
		{"unknown field in a variable", byVariable, map[string]any{"f": map[string]any{"nope": 1}}, "filter.nope", 400, "coercion"},
		{"variable that is no object", byVariable, map[string]any{"f": 3}, "filter", 400, "coercion"},
		{"missing variable", `query($n:String!){fail(name:$n)}`, nil, "$n", 400, "the variable is at fault, and not where it is used"},
		{"variable that may not be null", `query($n:String!){fail(name:$n)}`, map[string]any{"n": nil}, "$n", 400, "the same"},
		{"null where a default is", `query($b:Boolean){items(filter:{exact:$b}){name}}`, map[string]any{"b": nil}, "filter.exact", 400, "gqlgen takes it for false, and the default is true"},
		{"number that is text in a variable", byVariable, map[string]any{"n": "2"}, "first", 400, "text is no number"},
		{"number that is text, deep in a variable", byVariable, map[string]any{"f": map[string]any{"and": []any{map[string]any{"limit": "2"}}}}, "filter.and[0].limit", 400, "the same inside of an input"},
		{"text that is a number in a variable", `query($n:String!){fail(name:$n)}`, map[string]any{"n": 5}, "name", 400, "a number is no text"},
		{"number beyond 32 bits", `{items(first:2147483648){name}}`, nil, "first", 400, "validation"},
		{"number beyond 32 bits in an input", `{items(filter:{limit:-2147483649}){name}}`, nil, "filter.limit", 400, "validation"},
		{"number beyond 64 bits", `{items(first:99999999999999999999){name}}`, nil, "first", 400, "validation"},
		{"number beyond 64 bits for a scalar", `{items(word:99999999999999999999){name}}`, nil, "word", 400, "gqlgen would panic"},
		{"number beyond 32 bits in a variable", byVariable, map[string]any{"n": 2147483648}, "first", 400, "coercion"},
		{"default beyond 32 bits", `query($n:Int=2147483648){items(first:$n){name}}`, nil, "$n", 400, "the fault is where the variable is declared"},
		{"document and variable are wrong", `query($n:Int!){fail(name:$n)}`, map[string]any{"n": "x"}, "name", 400, "the document comes first: its type is what has to be changed"},
		{"variable inside of a list", `query($c:Color!){items(filter:{colors:[RED,$c]}){name}}`, map[string]any{"c": "BLUE"}, "filter.colors[1]", 400, "the place of use"},
		{"scalar", `{items(word:"bad"){name}}`, nil, "word", 200, "the scalar itself refuses it: execution has begun"},
		{"scalar, deep", `{items(filter:{and:[{word:"bad"}]}){name}}`, nil, "filter.and[0].word", 200, "the whole way to the value"},
		{"scalar in a variable", byVariable, map[string]any{"w": "bad"}, "word", 200, "the same"},
		{"range", `{items(first:-1){name}}`, nil, "first", 200, "the resolver refuses it"},
		{"operation name", `query A{hello} query B{hello}`, nil, "operationName", 400, "the parameter at fault is not in the document"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, body := s.query(t, tt.document, tt.variables)
			errs, _ := body["errors"].([]any)
			if len(errs) != 1 {
				t.Fatalf("got %d errors, want 1: %s", len(errs), r.body)
			}
			got := extensions(errs[0])
			if got["argument"] != tt.want || got["code"] != "INVALID" || r.status != tt.status {
				t.Errorf("got %d %v, want %d and argument %q: %s", r.status, got, tt.status, tt.want, tt.why)
			}
			if _, hasPath := errs[0].(map[string]any)["path"]; hasPath != (tt.status == 200) {
				t.Errorf("a path leads into a response, and before execution there is none: %s", r.body)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.RequestTimeout = 2 * time.Second })
	r, body := s.query(t, `{hello slow items{name}}`, nil)
	want := map[string]any{"hello": "hello", "slow": nil, "items": []any{map[string]any{"name": "item-0"}, map[string]any{"name": "item-1"}}}
	if d := cmp.Diff(want, body["data"]); d != "" {
		t.Errorf("what was done in time (-want +got):\n%s", d)
	}
	if r.status != http.StatusOK || codeOf(body) != "TIMEOUT" {
		t.Errorf("got %d %s, want 200 with TIMEOUT for the rest", r.status, r.body)
	}
}
