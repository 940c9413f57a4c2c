package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readConfigFile reads settings from a YAML file: one flat mapping from the names of flags to a value, or to a list of
// values. It is read as nodes, since every value goes the way of a flag's text, and messages name the line.
func readConfigFile(path string, known []string) (map[string]settingText, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("read the configuration file: %w", err)
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // nothing but comments
	case err != nil:
		return nil, usagef("%s: %w", path, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, usagef("%s: only one YAML document is accepted", path)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, usagef("%s:%d: expected settings such as \"listen: 127.0.0.1:8085\"", path, root.Line)
	}
	return fileSettings(path, root, known)
}

func fileSettings(path string, mapping *yaml.Node, known []string) (map[string]settingText, error) {
	found := map[string]settingText{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key, node := mapping.Content[i], mapping.Content[i+1]
		where := fmt.Sprintf("%s:%d: %s", path, key.Line, key.Value)
		if !slices.Contains(known, key.Value) {
			return nil, usagef("%s: there is no such setting; there are %s", where, strings.Join(known, ", "))
		}
		if _, again := found[key.Value]; again {
			return nil, usagef("%s stands there twice", where)
		}
		texts, err := nodeTexts(node)
		if err != nil {
			return nil, usagef("%s: %w", where, err)
		}
		found[key.Value] = settingText{where: where, texts: texts}
	}
	return found, nil
}

// nodeTexts are the texts of a value or of a list of values.
func nodeTexts(node *yaml.Node) ([]string, error) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return []string{""}, nil
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}, nil
	case node.Kind != yaml.SequenceNode:
		return nil, errors.New("expected a value, or a list of values")
	case len(node.Content) == 0:
		return nil, errors.New("the list is empty: leave the setting out")
	}
	var texts []string
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode {
			return nil, errors.New("expected a list of plain values")
		}
		texts = append(texts, item.Value)
	}
	return texts, nil
}
