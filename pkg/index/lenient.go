package index

import (
	"errors"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Lenient are the options of all decoding of objects: an API server has accepted them already.
//
// Times are read by readTime: metav1.Time has encoding/json read the text of each, which is a sixth of what decoding a
// Deployment takes.
var Lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsonv2.WithUnmarshalers(times))

var times = jsonv2.UnmarshalFromFunc(readTime)

// withoutMetadata skips an object's own metadata, and no other: a pod template has metadata too.
var withoutMetadata = jsonv2.JoinOptions(Lenient, jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(times,
	jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, _ *metav1.ObjectMeta) error {
		if dec.StackDepth() > 1 {
			return errors.ErrUnsupported // Which means: decode it as usual.
		}
		return dec.SkipValue()
	}))))

// readTime reads a time as the method UnmarshalJSON of metav1.Time does.
func readTime(dec *jsontext.Decoder, t *metav1.Time) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() == jsontext.KindNull {
		*t = metav1.Time{}
		return nil
	}
	if token.Kind() != jsontext.KindString {
		return errors.New("a time is not a text")
	}
	at, err := time.Parse(time.RFC3339, token.String())
	t.Time = at.Local() //nolint:gosmopolitan // So metav1.Time has it.
	return err
}
