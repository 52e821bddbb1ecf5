package grpc

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// The ways into the API.
const (
	byGraphQL = "GraphQL"
	byREST    = "REST"
	byGRPC    = "gRPC"
)

const notFound = "NOT_FOUND"

// outcome is what an operation answers: an object, or why it is refused.
type outcome struct {
	Code, Message, Argument string
	Object                  any
	// Errors are the messages beside an object.
	Errors []string
}

// way asks an operation as a person.
type way func(t *testing.T, op *operation.Operation, person string, given map[string]any) outcome

func graphQL(f *fleet.Fleet) way {
	return func(t *testing.T, op *operation.Operation, person string, given map[string]any) outcome {
		t.Helper()
		got := gql.New(f.KairshipURL, f.Token(t, person)).Must(t, gql.Request{Query: op.Document, OperationName: op.Name, Variables: given})
		object := op.Unwrap(got.Data)
		switch {
		case object == nil && len(got.Errors) == 0:
			return outcome{Code: notFound} // Other ways have a message of their own.
		case object == nil:
			first := got.Errors[0]
			return outcome{Code: first.Extensions.Code, Message: first.Message, Argument: first.Extensions.Argument}
		}
		out := outcome{Object: clean(t, object)}
		for _, e := range got.Errors {
			out.Errors = append(out.Errors, e.Message)
		}
		return out
	}
}

func gRPC(f *fleet.Fleet, conn *grpc.ClientConn) way {
	return func(t *testing.T, op *operation.Operation, person string, given map[string]any) outcome {
		t.Helper()
		request, answer := message(t, op.Name+"Request"), message(t, op.Name+"Response")
		if err := protojson.Unmarshal(encoded(t, given), request); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		if err := conn.Invoke(t.Context(), service+op.Name, request, answer, as(t, f, person)); err != nil {
			return outcome{Code: reasonOf(err).GetReason(), Message: status.Convert(err).Message(), Argument: reasonOf(err).GetMetadata()["argument"]}
		}
		of := answer.ProtoReflect()
		field := func(name string) any { return clean(t, written(t, of.Interface()))[name] }
		out := outcome{Object: field("result")}
		errs, _ := field("errors").([]any)
		for _, e := range errs {
			of, _ := e.(map[string]any)
			text, _ := of["message"].(string)
			out.Errors = append(out.Errors, text)
		}
		return out
	}
}

func rest(f *fleet.Fleet) way {
	return func(t *testing.T, op *operation.Operation, person string, given map[string]any) outcome {
		t.Helper()
		request := restRequest(t, f, op, given)
		request.Header.Set("Authorization", "Bearer "+f.Token(t, person))
		request.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var body map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		if resp.StatusCode != http.StatusOK {
			text := func(of map[string]any, name string) string { s, _ := of[name].(string); return s }
			more, _ := body["more"].(map[string]any)
			return outcome{Code: text(body, "code"), Message: text(body, "detail"), Argument: text(more, "argument")}
		}
		out := outcome{}
		errs, _ := body["errors"].([]any)
		for _, e := range errs {
			of, _ := e.(map[string]any)
			text, _ := of["detail"].(string)
			out.Errors = append(out.Errors, text)
		}
		delete(body, "errors")
		delete(body, "extensions")
		out.Object = cleaned(body)
		return out
	}
}

// restRequest makes the request of an operation: its variables are in the path, and otherwise in the body or the query string.
func restRequest(t *testing.T, f *fleet.Fleet, op *operation.Operation, given map[string]any) *http.Request {
	t.Helper()
	path, rest, query := op.Path, map[string]any{}, url.Values{}
	for name, value := range given {
		text, isText := value.(string)
		switch {
		case op.InPath(name):
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		case op.HasBody():
			rest[name] = value
		case isText:
			query.Set(name, text)
		default:
			query.Set(name, string(encoded(t, value)))
		}
	}
	address, body := f.KairshipURL+path, []byte(nil)
	if op.HasBody() {
		body = encoded(t, rest)
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(t.Context(), op.Method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
