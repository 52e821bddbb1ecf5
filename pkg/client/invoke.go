package client

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
)

// Service describes the methods of the API.
func Service() protoreflect.ServiceDescriptor {
	return kairshipv1.File_kairship_proto.Services().Get(0)
}

// Invoker calls methods by their names, for programs that do not choose them when they are compiled.
type Invoker struct {
	server  string
	http    connect.HTTPClient
	options []connect.ClientOption
}

// NewInvoker returns an Invoker with the same settings as New.
func NewInvoker(cfg Config) (*Invoker, error) {
	server, http, options, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	return &Invoker{server, http, options}, nil
}

// dynamic is a message whose type is that of its method.
type dynamic struct{ proto.Message }

// NewMessage returns an empty message of a type of the API.
func NewMessage(of protoreflect.MessageDescriptor) (proto.Message, error) {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		return nil, fmt.Errorf("the message %s: %w", of.FullName(), err)
	}
	return typ.New().Interface(), nil
}

// Invoke calls a method that has one answer.
func (i *Invoker) Invoke(ctx context.Context, method protoreflect.MethodDescriptor, request proto.Message) (proto.Message, error) {
	level := connect.IdempotencyUnknown
	if Reads(method) {
		level = connect.IdempotencyNoSideEffects
	}
	options := append([]connect.ClientOption{
		connect.WithSchema(method), connect.WithIdempotency(level),
		connect.WithResponseInitializer(func(_ connect.Spec, m any) error {
			answer, err := NewMessage(method.Output())
			if d, ok := m.(*dynamic); ok && err == nil {
				d.Message = answer
			}
			return err
		}),
	}, i.options...)
	path := fmt.Sprintf("%s/%s/%s", i.server, method.Parent().FullName(), method.Name())
	answer, err := connect.NewClient[dynamic, dynamic](i.http, path, options...).CallUnary(ctx, connect.NewRequest(&dynamic{request}))
	if err != nil {
		return nil, err
	}
	return answer.Msg.Message, nil
}
