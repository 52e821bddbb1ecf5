// Command protobuf writes what is generated of the named operations in api/v1 for gRPC: the definition, the numbers that its
// clients rely on, and the messages and clients in Go.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/protofile"
)

const (
	definition = "kairship.proto"
	numbers    = "numbers.json"
	module     = "module=github.com/kairship-io/kairship/api/v1"
)

// plugins are the generators of protobuf-go and connect-go.
var plugins = []string{"protoc-gen-go", "protoc-gen-connect-go"}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run works in the folder of the operations.
func run(ctx context.Context) error {
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	operations, err := operation.Load(os.DirFS("."), schema)
	if err != nil {
		return err
	}
	kept, err := os.ReadFile(numbers)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	locked, err := protofile.ReadNumbers(kept)
	if err != nil {
		return fmt.Errorf("%s: %w", numbers, err)
	}
	text, err := protofile.Of(operations, schema, locked)
	if err != nil {
		return fmt.Errorf("%w\n(to break clients on purpose, take the line out of %s)", err, numbers)
	}
	request, err := compile(ctx, text)
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		if err := generate(ctx, plugin, request); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	if kept, err = locked.Write(); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(definition, []byte(text), 0o644), os.WriteFile(numbers, kept, 0o644))
}

// compile returns the request that plugins of protoc take.
func compile(ctx context.Context, text string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(map[string]string{definition: text}),
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, definition)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: []string{definition}, Parameter: new(module)}
	var add func(of protoreflect.FileDescriptor)
	seen := map[string]bool{}
	add = func(of protoreflect.FileDescriptor) {
		if seen[of.Path()] {
			return
		}
		seen[of.Path()] = true
		for i := range of.Imports().Len() {
			add(of.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(of))
	}
	add(files[0])
	// Go's generators ask for nothing else.
	request.SourceFileDescriptors = []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])}
	return request, nil
}

// generate has a plugin write its files.
func generate(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", plugin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output.Bytes(), &response); err != nil {
		return err
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.GetFile() {
		if err := os.MkdirAll(filepath.Dir(file.GetName()), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file.GetName(), []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
