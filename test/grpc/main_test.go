// Package grpc tests gRPC against a running fleet, by the official client of gRPC: it asks what GraphQL is asked, as each
// person of the fleet, and expects the same answers and refusals.
package grpc

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "github.com/kairship-io/kairship/api/v1"
	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/schema"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// people are those of the fleet.
var people = []string{"admin", "alice", "bob", "mallory"}

const service = "/kairship.v1.Kairship/"

// dial connects to Kairship.
func dial(t testing.TB, f *fleet.Fleet) *grpc.ClientConn {
	t.Helper()
	u, err := url.Parse(f.KairshipURL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// as is a call as a person.
func as(t testing.TB, f *fleet.Fleet, person string) grpc.CallOption {
	t.Helper()
	return grpc.PerRPCCredentials(bearer(f.Token(t, person)))
}

// bearer sends a token, also without TLS: the fleet is on this machine.
type bearer string

func (b bearer) RequireTransportSecurity() bool { return false }

// operations are all operations.
var operations = sync.OnceValues(func() ([]*operation.Operation, error) { return operation.Load(v1.Operations, schema.Load()) })

// those are the operations that are wanted.
func those(t *testing.T, wanted func(*operation.Operation) bool) []*operation.Operation {
	t.Helper()
	all, err := operations()
	if err != nil {
		t.Fatal(err)
	}
	var found []*operation.Operation
	for _, op := range all {
		if wanted(op) {
			found = append(found, op)
		}
	}
	return found
}

// reads are the operations that read and have one answer.
func reads(t *testing.T) []*operation.Operation {
	t.Helper()
	return those(t, func(op *operation.Operation) bool { return op.Reads() && !op.Streams() })
}

// variables are those that the tests of REST use.
type variables struct {
	Objects     map[string]any            `json:"objects"`
	Own         map[string]map[string]any `json:"own"`
	Absent      []string                  `json:"absent"`
	OfTheCaller []string                  `json:"ofTheCaller"`
	// Writes are values of mutations, with which an administrator's dry run succeeds; addScene has more of them.
	Writes map[string]map[string]any `json:"writes"`
}

func readVariables(t *testing.T) variables {
	t.Helper()
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "test", "rest", "variables.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v variables
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	v.Objects["from"] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	return v
}

// of are the variables of an operation: those that it needs, and its own.
func (v variables) of(t *testing.T, op *operation.Operation) map[string]any {
	t.Helper()
	values := map[string]any{}
	for _, d := range op.Definition.VariableDefinitions {
		own, has := v.Own[op.Name][d.Variable]
		switch {
		case has:
			values[d.Variable] = own
		case d.Type.NonNull && d.DefaultValue == nil:
			value, ok := v.Objects[d.Variable]
			if !ok {
				t.Errorf("there is no value for %s of %s: add one to test/rest/variables.json", d.Variable, op.Name)
			}
			values[d.Variable] = value
		}
	}
	return values
}

// message is a new message of the definition.
func message(t *testing.T, name string) protoreflect.ProtoMessage {
	t.Helper()
	of := kairshipv1.File_kairship_proto.Messages().ByName(protoreflect.Name(name))
	if of == nil {
		t.Fatalf("there is no message %s", name)
	}
	typ, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return typ.New().Interface()
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}
