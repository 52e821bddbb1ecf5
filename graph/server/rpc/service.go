package rpc

import (
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect"
	"github.com/vektah/gqlparser/v2/ast"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kairship-io/kairship/graph/operation"
)

// The paths of the two versions of the reflection service.
const (
	ReflectionPath      = "/grpc.reflection.v1.ServerReflection/"
	ReflectionAlphaPath = "/grpc.reflection.v1alpha.ServerReflection/"
)

// smallRequests bounds the requests of services that take names alone, one of which asks for no identity.
var smallRequests = connect.WithReadMaxBytes(4 << 10)

// Service has the methods of the API.
type Service struct {
	// Path is what the paths of all methods begin with.
	Path string

	schema     *ast.Schema
	methods    map[string]*method
	reflection map[string]http.Handler
	errors     *connect.ErrorWriter
}

// method is an operation with the types of its messages.
type method struct {
	operation  *operation.Operation
	descriptor protoreflect.MethodDescriptor
	input      protoreflect.MessageType
	output     *encoding
}

// New returns the service of operations. It fails when the definition lacks one.
func New(operations []*operation.Operation, schema *ast.Schema, service protoreflect.ServiceDescriptor) (*Service, error) {
	s := &Service{
		Path: "/" + string(service.FullName()) + "/", schema: schema, methods: map[string]*method{},
		errors: connect.NewErrorWriter(codecs()),
	}
	outputs := encodings{}
	for _, op := range operations {
		of := service.Methods().ByName(protoreflect.Name(op.Name))
		if of == nil {
			return nil, fmt.Errorf("the definition of %s has no method %s: run make generate", service.FullName(), op.Name)
		}
		s.methods[s.Path+op.Name] = &method{operation: op, descriptor: of, input: typeOf(of.Input()), output: outputs.of(of.Output())}
	}
	reflector, err := reflectorOf(service)
	if err != nil {
		return nil, err
	}
	path, v1 := grpcreflect.NewHandlerV1(reflector, smallRequests)
	alphaPath, alpha := grpcreflect.NewHandlerV1Alpha(reflector, smallRequests)
	s.reflection = map[string]http.Handler{path: v1, alphaPath: alpha}
	return s, nil
}

// typeOf is the type that Go has for a message; without generated code, one that is made of its descriptor.
func typeOf(of protoreflect.MessageDescriptor) protoreflect.MessageType {
	if known, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName()); err == nil && known.Descriptor() == of {
		return known
	}
	return dynamicpb.NewMessageType(of)
}

// reflectorOf describes the service, and what its file imports.
func reflectorOf(service protoreflect.ServiceDescriptor) (*grpcreflect.Reflector, error) {
	files := &protoregistry.Files{}
	var add func(of protoreflect.FileDescriptor) error
	add = func(of protoreflect.FileDescriptor) error {
		if _, err := files.FindFileByPath(of.Path()); err == nil {
			return nil
		}
		for i := range of.Imports().Len() {
			if err := add(of.Imports().Get(i).FileDescriptor); err != nil {
				return err
			}
		}
		return files.RegisterFile(of)
	}
	for _, file := range []protoreflect.FileDescriptor{
		service.ParentFile(), healthv1.File_grpc_health_v1_health_proto,
		errdetails.File_google_rpc_error_details_proto, // Clients show the details of errors by it.
	} {
		if err := add(file); err != nil {
			return nil, err
		}
	}
	names := []string{string(service.FullName()), grpchealth.HealthV1ServiceName}
	return grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string { return names }), grpcreflect.WithDescriptorResolver(files)), nil
}

// Serves reports whether a request is for the methods or for reflection.
func (s *Service) Serves(r *http.Request) bool {
	return s != nil && (strings.HasPrefix(r.URL.Path, s.Path) || IsReflection(r))
}

// IsReflection reports whether a request asks for the definition.
func IsReflection(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, ReflectionPath) || strings.HasPrefix(r.URL.Path, ReflectionAlphaPath)
}

// Has reports whether there is a method at the path of a request.
func (s *Service) Has(r *http.Request) bool { return s != nil && s.methods[r.URL.Path] != nil }

// Reflect answers a request for the definition.
func (s *Service) Reflect(w http.ResponseWriter, r *http.Request) {
	prefix := ReflectionPath
	if strings.HasPrefix(r.URL.Path, ReflectionAlphaPath) {
		prefix = ReflectionAlphaPath
	}
	s.reflection[prefix].ServeHTTP(flusher{w}, r)
}

// NoMethod answers a request for a method that there is not.
func (s *Service) NoMethod(w http.ResponseWriter, r *http.Request) {
	out := connect.NewError(connect.CodeUnimplemented, fmt.Errorf("there is no method %s: ask the reflection service for all of them", r.URL.Path))
	if !s.errors.IsSupported(r) {
		http.Error(w, out.Message(), http.StatusNotFound)
		return
	}
	s.errors.Write(w, r, out) //nolint:errcheck // The client went away.
}
