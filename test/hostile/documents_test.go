package hostile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// fuzzer makes requests up. The same seed makes the same ones.
type fuzzer struct{ *rand.Rand }

func (f fuzzer) between(least, most int) int { return least + f.IntN(most-least+1) }

// word is some text without meaning.
func (f fuzzer) word(length int) string {
	var b strings.Builder
	for range length {
		b.WriteByte("abcdefghijklmnopqrstuvwxyz"[f.IntN(26)])
	}
	return b.String()
}

func (f fuzzer) one(of ...string) string { return of[f.IntN(len(of))] }

// any makes one of some texts, and none of the others: some are long.
func (f fuzzer) any(of ...func() string) string { return of[f.IntN(len(of))]() }

// is a text that costs nothing to make.
func is(text string) func() string { return func() string { return text } }

// repeat is a text many times.
func (f fuzzer) repeat(text string, least, most int) func() string {
	return func() string { return strings.Repeat(text, f.between(least, most)) }
}

// many writes n things one after the other.
func many(n int, each func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(each(i))
		b.WriteByte(' ')
	}
	return b.String()
}

// deep nests lists in each other.
func deep(f fuzzer) string {
	n := f.between(6, 60)
	list := f.one("workloads", "events", "namespaces", "memberClusters")
	if list == "workloads" {
		return "{instances{nodes{" + strings.Repeat("workloads{nodes{instance{", n) + "name" + strings.Repeat("}}}", n) + "}}}"
	}
	return "{instances{nodes{" + strings.Repeat("... on Instance{workloads{nodes{instance{", n) + list + "{totalCount}" + strings.Repeat("}}}}", n) + "}}}"
}

// wide writes more fields than a client reads, by fragments that are spread often.
func wide(f fuzzer) string {
	n := f.between(60, 120)
	return "{viewer{" + many(n, func(i int) string { return fmt.Sprintf("...on Viewer{a%d:username ...F}", i) }) + "}} fragment F on Viewer{" +
		many(f.between(90, 150), func(i int) string { return fmt.Sprintf("b%d:username", i) }) + "}"
}

// aliased asks for the same again and again.
func aliased(f fuzzer) string {
	return "{viewer{" + many(f.between(260, 900), func(i int) string { return fmt.Sprintf("a%d:username", i) }) + "}}"
}

// roots asks for many lists at once.
func roots(f fuzzer) string {
	return "{" + many(f.between(51, 200), func(i int) string { return fmt.Sprintf("a%d:workloads{totalCount}", i) }) + "}"
}

// cyclic has fragments that spread each other in a circle.
func cyclic(f fuzzer) string {
	n := f.between(1, 80)
	return "{...F0}" + many(n, func(i int) string {
		return fmt.Sprintf("fragment F%d on Query{viewer{username} ...F%d ...F%d}", i, (i+1)%n, f.IntN(n))
	})
}

// doubling has fragments each of which spreads the next one twice.
func doubling(f fuzzer) string {
	n := f.between(14, 70)
	return "{...F0}" + many(n, func(i int) string {
		return fmt.Sprintf("fragment F%d on Query{a%d:viewer{username} ...F%d ...F%d}", i, i, i+1, i+1)
	}) + fmt.Sprintf("fragment F%d on Query{viewer{username}}", n)
}

// repeated has validation compare each field with each.
func repeated(f fuzzer) string {
	if f.IntN(2) == 0 {
		return "{viewer{" + strings.Repeat("username ", f.between(500, 2900)) + "}}"
	}
	inner := "{" + strings.Repeat("username ", f.between(25, 40)) + "}"
	return "{" + strings.Repeat("viewer"+inner+" ", f.between(25, 50)) + "}"
}

// dear multiplies long lists.
func dear(f fuzzer) string {
	n := f.between(100, 500)
	return fmt.Sprintf("{instances(first:%d){nodes{workloads(first:%d){nodes{placements{object{pods(first:%d){name phase}}} events(first:%d){nodes{message}}}}}}}", n, n, n, n)
}

// introspecting asks for the schema of the schema of the schema.
func introspecting(f fuzzer) string {
	n := f.between(4, 30)
	return "{__schema{types{" + strings.Repeat("fields{type{", n) + "name" + strings.Repeat("}}", n) + "}}}"
}

// directed puts the same directive everywhere.
func directed(f fuzzer) string {
	return "{viewer" + strings.Repeat(f.one(" @include(if:true)", " @skip(if:false)"), f.between(2, 900)) + "{username}}"
}

// longNamed has names of kilobytes, which validation would compare with the schema's.
func longNamed(f fuzzer) string {
	name := f.repeat(f.word(67), 3, 1500)()
	return f.one("{"+name+"}", "{viewer{"+name+"}}", "{instances("+name+":1){nodes{name}}}", "query($a:"+name+"){viewer{username}}", "{viewer @"+name+"{username}}")
}

// overlong has texts where short ones belong.
func overlong(f fuzzer) string {
	text := f.repeat(f.word(100), 100, 2000)()
	return f.any(
		func() string { return `{instances(filter:{labelSelector:"` + text + `=("}){nodes{name}}}` },
		func() string { return `{workloads(after:"` + text + `"){nodes{name}}}` },
		func() string { return `{instances(filter:{state:[` + text[:150] + `]}){nodes{name}}}` },
		func() string { return `{instances(first:"` + text + `"){nodes{name}}}` },
	)
}

// outOfRange has numbers that no computer has.
func outOfRange(f fuzzer) string {
	return "{instances(first:" + f.one("2147483648", "-2147483649", strings.Repeat("9", f.between(20, 4000)), "1e309", "501", "0", "-1", "0.5") + "){nodes{name}}}"
}

// broken is what no parser takes.
func broken(f fuzzer) string {
	whole := "query Q($n:Int){instances(first:$n){nodes{name workloads{nodes{...F}}}}} fragment F on Workload{name namespace}"
	switch f.IntN(3) {
	case 0:
		return whole[:f.between(1, len(whole)-1)] + "{"
	case 1:
		at := f.IntN(len(whole))
		return whole[:at] + f.one("\u0000", "\\", "\"", "`", "\u202e", "%", "}}}}", "{{{{") + whole[at:] + "("
	}
	return strings.Repeat(f.one("{", "[", "(", "\"", "...", "@", "query "), f.between(1, 2000))
}

// unknown asks for what there is not.
func unknown(f fuzzer) string {
	return "{" + many(f.between(1, 900), func(int) string { return f.one("instanc", "workload", "usernam", "viewr") + f.word(2) }) + "}"
}

// representations asks for many entities at once.
func representations(f fuzzer) string {
	return "{_entities(representations:[" + many(f.between(1001, 1400), func(int) string { return "1" }) + "]){__typename}}"
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // Text always marshals.
	}
	return string(raw)
}
