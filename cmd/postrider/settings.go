package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Every setting of the server is a flag and has the same name in the environment (POSTRIDER_REDIS_URL) and in the
// configuration file (redis-url). The command line wins over the environment, that over the file, that over the default.
// What is misspelt in any of them keeps the server from starting: a setting that silently has no effect is found too late.

const variablePrefix = "POSTRIDER_"

// clientVariables are what the client commands read, as the names of their flags.
var clientVariables = []string{"ca-file", "project", "server"}

// linkVariables are what Kubernetes puts into a container's environment when a Service beside it is called postrider, or
// postrider-something. They are not meant for us. POSTRIDER_PORT is told by its value, since it could be meant as a setting.
var linkVariables = regexp.MustCompile(
	`^POSTRIDER_(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|PORT=(tcp|udp|sctp)://)`)

// settingText is what stands for a setting in the environment or the file: several texts for a list.
type settingText struct {
	where string // for messages
	texts []string
}

// loadSettings sets the flags that the command line left alone, from the environment and the file that "config" names.
func loadSettings(flags *pflag.FlagSet, environ []string) error {
	variables, err := settingVariables(flags, environ)
	if err != nil {
		return err
	}
	if err := setFlag(flags.Lookup("config"), variables["config"]); err != nil {
		return err
	}
	file := map[string]settingText{}
	if path := flags.Lookup("config").Value.String(); path != "" {
		if file, err = readConfigFile(path, settingNames(flags)); err != nil {
			return err
		}
	}
	var wrong []error
	for _, name := range settingNames(flags) {
		text, ok := variables[name]
		if !ok {
			text = file[name]
		}
		wrong = append(wrong, setFlag(flags.Lookup(name), text))
	}
	return errors.Join(wrong...)
}

// setFlag sets a flag that was not given on the command line. The text is not repeated when it is refused: it may be a
// secret that was put in the wrong place.
func setFlag(f *pflag.Flag, text settingText) error {
	if f.Changed || len(text.texts) == 0 {
		return nil
	}
	if slices.Contains(text.texts, "") {
		return usagef("%s is empty: give it a value or leave it out", text.where)
	}
	if len(text.texts) > 1 && f.Value.Type() != "stringSlice" {
		return usagef("%s takes one value, not a list", text.where)
	}
	for _, t := range text.texts {
		if err := f.Value.Set(t); err != nil {
			_, usage := pflag.UnquoteUsage(f)
			return usagef("%s: this is not what --%s accepts: %s", text.where, f.Name, usage)
		}
	}
	f.Changed = true // validate asks what was given, wherever
	return nil
}

// checkEnvironment refuses unknown POSTRIDER_ variables for commands that read few of them.
func checkEnvironment(environ []string) error {
	_, err := settingVariables(serverFlags(new(Config)), environ)
	return err
}

// settingNames are the names that a configuration file may use, sorted.
func settingNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	return names
}

// settingVariables are the variables of the environment that stand for these flags.
func settingVariables(flags *pflag.FlagSet, environ []string) (map[string]settingText, error) {
	known := append(settingNames(flags), "config")
	found := map[string]settingText{}
	for _, entry := range ourVariables(environ) {
		variable, text, _ := strings.Cut(entry, "=")
		name := flagName(variable)
		switch {
		case slices.Contains(known, name):
			found[name] = settingText{where: variable, texts: []string{text}}
		case !slices.Contains(clientVariables, name):
			return nil, unknownVariable(variable, append(known, clientVariables...))
		}
	}
	return found, nil
}

// ourVariables are the entries of the environment that are meant for us.
func ourVariables(environ []string) []string {
	var ours []string
	for _, entry := range environ {
		if strings.HasPrefix(entry, variablePrefix) && !linkVariables.MatchString(entry) {
			ours = append(ours, entry)
		}
	}
	return ours
}

func unknownVariable(variable string, known []string) error {
	names := make([]string, len(known))
	for i, name := range known {
		names[i] = variableName(name)
	}
	slices.Sort(names)
	return usagef("%s is set in the environment, but there is no such setting; there are %s", variable, strings.Join(names, ", "))
}

func variableName(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func flagName(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, variablePrefix), "_", "-"))
}
