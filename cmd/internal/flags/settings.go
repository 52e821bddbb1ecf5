package flags

import (
	"cmp"
	"regexp"

	"github.com/spf13/pflag"
)

// Settings are what a program runs with, and where each of them was written.
type Settings struct {
	// File is the path of the file that was read; empty for none.
	File string
	// Ignored are variables of the environment that begin like settings and are none.
	Ignored []string

	list []*setting
}

type setting struct {
	flag *pflag.Flag
	// from is where it was given; empty for a default.
	from string
}

func newSettings(groups []Group) *Settings {
	s := &Settings{}
	for _, group := range groups {
		group.VisitAll(func(flag *pflag.Flag) { s.list = append(s.list, &setting{flag: flag}) })
	}
	return s
}

func (s *Settings) lookup(name string) *pflag.Flag {
	if found := s.find(name); found != nil {
		return found.flag
	}
	return nil
}

func (s *Settings) find(name string) *setting {
	for _, setting := range s.list {
		if setting.flag.Name == name {
			return setting
		}
	}
	return nil
}

func (s *Settings) names() []string {
	all := make([]string, 0, len(s.list))
	for _, setting := range s.list {
		all = append(all, setting.flag.Name)
	}
	return all
}

// apply gives each flag what the first of the sources says about it. What the others
// say is not looked at: a flag that collects values would join them.
func (s *Settings) apply(problems *Problems, precedence ...sources) {
	for _, setting := range s.list {
		for _, source := range precedence {
			if given, is := source[setting.flag.Name]; is {
				setting.from = given.from
				set(setting.flag, given, problems)
				break
			}
		}
	}
}

// Values are all settings as they are in effect, by name. There is no secret among
// them, only the paths of files and the names of Secrets that hold some.
func (s *Settings) Values() map[string]string {
	values := make(map[string]string, len(s.list))
	for _, setting := range s.list {
		values[setting.flag.Name] = withoutPasswords(setting.flag.Value.String())
	}
	return values
}

// Given lists of all settings that are not defaults where they were written.
func (s *Settings) Given() map[string]string {
	places := map[string]string{}
	for _, setting := range s.list {
		if setting.from != "" {
			places[setting.flag.Name] = setting.from
		}
	}
	return places
}

// origin describes for a person where the value of a flag comes from.
func (s *Settings) origin(name string) string {
	found := s.find(name)
	switch {
	case found == nil:
		return ""
	case found.from != "":
		return "set by " + found.from
	default:
		return "the default, " + cmp.Or(describe(found.flag).fallback, "nothing")
	}
}

// inURL matches what precedes the host of a URL, which may be a password.
var inURL = regexp.MustCompile(`://[^/@\s"]+@`)

// withoutPasswords replaces the users and passwords of all URLs in a text.
func withoutPasswords(text string) string { return inURL.ReplaceAllString(text, "://[hidden]@") }
