// Package flags reads the command lines of Kairship's programs: flags in groups,
// a help that shows them so, and errors that tell everything that is wrong at
// once.
package flags

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// width is that of the help, in characters.
const width = 100

// Group is a part of the flags that belongs together in the help.
type Group struct {
	Title string
	*pflag.FlagSet
}

// NewGroup makes a group of the flags that define adds, in their order.
func NewGroup(title string, define func(*pflag.FlagSet)) Group {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	define(set)
	return Group{Title: title, FlagSet: set}
}

// Program is a program that takes flags and nothing else.
type Program struct {
	Name string
	// Purpose follows the name in the help: "serves the API ...", in lines of
	// its own making.
	Purpose string
	// Groups are in the order of the help.
	Groups []Group
}

// Parse reads the command line into the flags' variables. Help goes to out, and
// the error is then pflag.ErrHelp.
func (p Program) Parse(args []string, out io.Writer) error {
	all := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	all.SortFlags = false
	for _, group := range p.Groups {
		all.AddFlagSet(group.FlagSet)
	}
	all.Usage = func() {}
	if err := all.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			p.help(out)
			return err
		}
		return fmt.Errorf("%w; see %s --help", err, p.Name)
	}
	if len(all.Args()) > 0 {
		return fmt.Errorf("%q is not a flag, and there is nothing else to give; see %s --help", all.Arg(0), p.Name)
	}
	return nil
}

func (p Program) help(out io.Writer) {
	fmt.Fprintf(out, "%s %s\n\nUsage:\n  %s [flags]\n", p.Name, p.Purpose, p.Name)
	for _, group := range p.Groups {
		fmt.Fprintf(out, "\n%s:\n%s", group.Title, group.FlagUsagesWrapped(width))
	}
}
