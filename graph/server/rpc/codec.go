package rpc

import (
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// request is the message of a request; its type is that of its method.
type request struct{ proto.Message }

// answer is the message of an answer: its text in JSON, as the resolvers made it.
type answer struct {
	method *method
	json   []byte
}

// codecs are how messages are written.
func codecs() connect.HandlerOption {
	return connect.WithHandlerOptions(
		connect.WithCodec(binary{}), connect.WithCodec(text{"json"}), connect.WithCodec(text{"json; charset=utf-8"}),
		connect.WithCompressMinBytes(compressFrom),
		connect.WithCompression("gzip",
			func() connect.Decompressor { return &gzip.Reader{} },
			func() connect.Compressor {
				w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
				if err != nil {
					panic(err) // The level is a constant.
				}
				return w
			}),
	)
}

// compressFrom is the size in bytes from which a message is compressed.
const compressFrom = 1 << 10

// binary is the binary format.
type binary struct{}

// Name implements connect.Codec.
func (binary) Name() string { return "proto" }

// Marshal implements connect.Codec.
func (binary) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case *answer:
		return m.method.output.encode(make([]byte, 0, len(m.json)), m.json)
	case proto.Message:
		return proto.Marshal(m)
	}
	return nil, errNoMessage(v)
}

// Unmarshal implements connect.Codec.
func (binary) Unmarshal(data []byte, v any) error {
	m, ok := v.(*request)
	if !ok {
		return errNoMessage(v)
	}
	return proto.Unmarshal(data, m.Message)
}

// text is the format of JSON.
type text struct{ name string }

// Name implements connect.Codec.
func (t text) Name() string { return t.name }

// Marshal implements connect.Codec. An answer is JSON already, which parsers of messages read: enums are their names, and
// null is what is not set.
func (text) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case *answer:
		return m.json, nil
	case proto.Message:
		return protojson.Marshal(m)
	}
	return nil, errNoMessage(v)
}

// Unmarshal implements connect.Codec. A field that the message has not is refused: it may be what keeps a request from
// being a write.
func (text) Unmarshal(data []byte, v any) error {
	m, ok := v.(*request)
	if !ok {
		return errNoMessage(v)
	}
	if len(data) == 0 {
		return errors.New("the body is empty: send a JSON object")
	}
	return protojson.Unmarshal(data, m.Message)
}

func errNoMessage(v any) error { return fmt.Errorf("%T is no message of this package", v) }
