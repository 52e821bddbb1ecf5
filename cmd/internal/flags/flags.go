// Package flags reads the settings of Kairship's programs. A setting is defined once, as a flag in
// a group; the definition also makes it available in the environment and in a file, in the help and
// the reference, and in the log at the start. All mistakes are reported at once, each with the
// place where it was written.
package flags

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// ErrPrinted is what Parse returns after the help or the version, which is all that
// was asked for.
var ErrPrinted = errors.New("what was asked for has been printed")

// Group is a group of settings in the help.
type Group struct {
	Title string
	*pflag.FlagSet
}

// NewGroup makes a group of the flags that define adds, in their order. The text of a
// flag says what the setting does and in which unit; where its type says too little,
// the kind of value stands in it in backquotes, such as `host:port` or `file`.
//
// There is no setting for a secret: a command line and an environment are readable for
// too many. What a program needs to keep secret it reads from a `file` or from the
// Secret of a `namespace/name`.
func NewGroup(title string, define func(*pflag.FlagSet)) Group {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	define(set)
	return Group{Title: title, FlagSet: set}
}

// Program is a program that takes settings and nothing else.
type Program struct {
	Name string
	// Version is what --version prints after the name.
	Version string
	// Purpose follows the name in the help: "serves the API ...", in lines of
	// its own making.
	Purpose string
	// Groups are in the order of the help. The flags of the program itself, --config,
	// --version and --help, are added to them.
	Groups []Group
	// Validate notes what is wrong with the settings, once all are read; nil for a
	// program that takes all that can be read.
	Validate func(*Problems)
}

// own are the flags that are about the command line itself, and cannot be given
// elsewhere.
type own struct {
	config        string
	version, help bool
}

func (o *own) define(f *pflag.FlagSet) {
	f.StringVar(&o.config, configFlag, "", "`file` with settings, in YAML: the names of flags without the dashes, and their values")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	f.BoolVarP(&o.help, "help", "h", false, "print this help and exit")
}

const configFlag = "config"

// Parse reads the settings into the flags' variables: from args, else from the environment
// ("NAME=value", as of os.Environ), else from the file that --config or KAIRSHIP_CONFIG names. Help
// and version go to out, and the error is then ErrPrinted. Any other error reports all mistakes at
// once.
func (p Program) Parse(args, environ []string, out io.Writer) (*Settings, error) {
	var o own
	ownGroup := NewGroup("Command line", o.define)
	s := newSettings(p.Groups)
	problems := &Problems{}

	line := readArgs(args, append([]Group{ownGroup}, p.Groups...), problems)
	for name, given := range line {
		if flag := ownGroup.Lookup(name); flag != nil {
			set(flag, given, problems)
			delete(line, name)
		}
	}
	switch {
	case o.help:
		p.help(out, append(p.Groups, ownGroup))
		return nil, ErrPrinted
	case o.version:
		fmt.Fprintln(out, p.Name, p.Version)
		return nil, ErrPrinted
	}

	env := readEnvironment(environ, s)
	if config, is := env.given[configFlag]; is && !ownGroup.Changed(configFlag) {
		set(ownGroup.Lookup(configFlag), config, problems)
	}
	delete(env.given, configFlag)
	s.Ignored = env.ignored
	s.File = o.config

	s.apply(problems, line, env.given, readFile(o.config, s, problems))
	if p.Validate != nil {
		p.Validate(problems)
	}
	if err := problems.explained(s); err != nil {
		return nil, fmt.Errorf("%w\nsee %s --help", err, p.Name)
	}
	return s, nil
}
