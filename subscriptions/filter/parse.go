package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where an expression is wrong, and what would be right.
type SyntaxError struct {
	// At counts characters from 1; that of the end is one more than there are.
	At int
	// Found is what stands there.
	Found  string
	Advice string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("unexpected %s at %d: %s", e.Found, e.At, e.Advice)
}

// Parse compiles an expression.
func Parse(text string) (*Filter, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("is %d bytes long; at most %d are allowed", len(text), MaxBytes)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("is not valid UTF-8")
	}
	p := &parser{lexer{text: text}, token{}}
	p.next()
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	if p.kind != end {
		return nil, p.unexpected("%s", afterCondition(p.token))
	}
	return &Filter{root}, nil
}

// parser reads by recursive descent, one token ahead. That the text is short bounds how deep it goes.
type parser struct {
	lexer
	token
}

func (p *parser) next() { p.token = p.scan() }

// is tells whether the token is this word or sign.
func (p *parser) is(text string) bool {
	return (p.kind == word || p.kind == sign) && p.token.text == text
}

// unexpected makes the error for the token.
func (p *parser) unexpected(advice string, args ...any) error {
	if p.kind == broken {
		return p.at(p.token.start, p.token.text, p.token.value)
	}
	return p.at(p.token.start, p.token.String(), fmt.Sprintf(advice, args...))
}

// expression reads conditions joined by one kind of operator.
func (p *parser) expression() (node, error) {
	first, err := p.unary()
	if err != nil || !p.is("AND") && !p.is("OR") {
		return first, err
	}
	joined, joint := node{op: and, nodes: []node{first}}, p.token.text
	if joint == "OR" {
		joined.op = or
	}
	for p.is("AND") || p.is("OR") {
		if !p.is(joint) {
			return node{}, p.unexpected("use parentheses to mix AND and OR")
		}
		p.next()
		n, err := p.unary()
		if err != nil {
			return node{}, err
		}
		joined.nodes = append(joined.nodes, n)
	}
	return joined, nil
}

func (p *parser) unary() (node, error) {
	if !p.is("NOT") && !p.is("-") {
		return p.primary()
	}
	p.next()
	n, err := p.unary()
	return node{op: not, nodes: []node{n}}, err
}

func (p *parser) primary() (node, error) {
	switch {
	case p.is("("):
		return p.parenthesised()
	case p.is("attributes"):
		return p.condition()
	case p.is("hasPrefix"):
		return p.prefix()
	}
	return node{}, p.unexpected("%s", insteadOfCondition(p.token))
}

func (p *parser) parenthesised() (node, error) {
	open := p.token
	p.next()
	n, err := p.expression()
	if err != nil {
		return node{}, err
	}
	if p.kind == end {
		return node{}, p.unexpected("the parenthesis at %d is not closed", p.position(open.start))
	}
	if !p.is(")") {
		return node{}, p.unexpected("%s", afterCondition(p.token))
	}
	p.next()
	return n, nil
}

// condition reads what follows attributes.
func (p *parser) condition() (n node, err error) {
	p.next()
	switch {
	case p.is(":"):
		if n.key, err = p.key(); err == nil && (p.is("=") || p.is("!=")) {
			err = p.unexpected("a value is compared with attributes.KEY, with a dot in place of the colon")
		}
		return n, err
	case p.is("."):
		n.key, err = p.key()
	case p.is("["):
		err = p.unexpected("write attributes.KEY, or attributes.\"KEY\" for a key with other characters than letters, digits, - and _")
	default:
		err = p.unexpected("write attributes:KEY to ask whether there is an attribute, attributes.KEY = \"VALUE\" to compare one")
	}
	if err != nil {
		return n, err
	}
	switch {
	case p.is("="):
		n.op = equals
	case p.is("!="):
		n.op = differs
	default:
		return n, p.unexpected("%s", insteadOfComparison(p.token))
	}
	p.next()
	n.value, err = p.literal()
	return n, err
}

// prefix reads hasPrefix(attributes.KEY, "START").
func (p *parser) prefix() (n node, err error) {
	const form = "write hasPrefix(attributes.KEY, \"START\")"
	n.op = prefixed
	for _, expected := range []string{"(", "attributes", "."} {
		if p.next(); !p.is(expected) {
			return n, p.unexpected(form)
		}
	}
	if n.key, err = p.key(); err != nil {
		return n, err
	}
	if !p.is(",") {
		return n, p.unexpected(form)
	}
	p.next()
	if n.value, err = p.literal(); err != nil {
		return n, err
	}
	if !p.is(")") {
		return n, p.unexpected(form)
	}
	p.next()
	return n, nil
}

// key reads a key behind the token, and goes on behind it.
func (p *parser) key() (string, error) {
	p.token = p.scanKey()
	key := p.token.value
	switch {
	case p.kind == literal && key == "":
		return "", p.unexpected("a key is not empty")
	case p.kind == word && isOperator(key):
		return "", p.unexpected("a key that is an operator must be in quotes: \"%s\"", key)
	case p.isQuote():
		return "", p.unexpected("quotes are straight and double")
	case p.kind != word && p.kind != literal:
		return "", p.unexpected("a key is of letters, digits, - and _, or else in quotes")
	}
	bare := p.kind == word
	p.next()
	if bare && p.is(".") {
		return "", p.unexpected("a key with a dot must be in quotes, such as attributes.\"%s.x\"", key)
	}
	return key, nil
}

// isQuote tells whether the token is a quote that is none here.
func (p *parser) isQuote() bool {
	return p.kind == sign && strings.Contains("'`‘’“”«»", p.token.text)
}

// literal reads a text in quotes.
func (p *parser) literal() (string, error) {
	value := p.token.value
	switch {
	case p.is("attributes"):
		return "", p.unexpected("an attribute is compared with a value in quotes, not with another one")
	case p.kind == word:
		return "", p.unexpected("a value must be in quotes: \"%s\"", p.token.text)
	case p.is("="):
		return "", p.unexpected("a single = compares")
	case p.is("~"):
		return "", p.unexpected("there are no regular expressions; hasPrefix(attributes.KEY, \"START\") compares beginnings")
	case p.isQuote():
		return "", p.unexpected("quotes are straight and double")
	case p.kind != literal:
		return "", p.unexpected("a value must be in quotes, such as \"com\"")
	}
	p.next()
	return value, nil
}

func isOperator(w string) bool { return w == "AND" || w == "OR" || w == "NOT" }

// afterCondition is the advice for what stands where an operator could.
func afterCondition(t token) string {
	switch {
	case t.kind == sign && t.text == ")":
		return "no parenthesis is open"
	case t.kind == word && isOperator(strings.ToUpper(t.text)) && !isOperator(t.text):
		return "operators are in capitals: " + strings.ToUpper(t.text)
	case t.text == "&":
		return "write AND"
	case t.text == "|":
		return "write OR"
	}
	return "conditions are joined by AND or OR"
}

// insteadOfCondition is the advice for what stands where a condition should.
func insteadOfCondition(t token) string {
	lower := strings.ToLower(t.text)
	switch {
	case t.kind == end, t.kind == sign && t.text == ")", t.kind == word && isOperator(t.text):
		return "a condition is missing, such as attributes.name = \"com\""
	case t.kind == literal:
		return "a condition begins with an attribute, such as attributes.name = \"com\""
	case t.text == "!", t.kind == word && lower == "not":
		return "write NOT"
	case t.kind == word && lower == "hasprefix":
		return "write hasPrefix"
	case t.kind == word && (lower == "attributes" || lower == "attribute"):
		return "write attributes"
	case t.kind == word && t.called:
		return "hasPrefix is the only function"
	}
	return "a condition is attributes:KEY, attributes.KEY = \"VALUE\", attributes.KEY != \"VALUE\" or hasPrefix(attributes.KEY, \"START\")"
}

// insteadOfComparison is the advice for what follows attributes.KEY and is neither = nor !=.
func insteadOfComparison(t token) string {
	switch {
	case t.kind == sign && t.text == ":":
		return "= compares a value; attributes:KEY asks whether there is an attribute"
	case t.kind == sign && (t.text == "<" || t.text == ">"):
		return "only = and != compare"
	case t.kind == sign && t.text == "~":
		return "there are no regular expressions; hasPrefix(attributes.KEY, \"START\") compares beginnings"
	}
	return "= or != and a value in quotes must follow; attributes:KEY asks whether there is an attribute"
}
