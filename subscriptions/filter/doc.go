// Package filter selects messages by their attributes: by an expression of Pub/Sub's filter language (Parse), and by a
// routing pattern in the manner of AMQP's topic exchanges (ParsePattern). Both are checked and compiled once; matching a
// message then allocates nothing, and takes time in proportion to the expression or to the attribute.
//
// An expression is made of conditions:
//
//	attributes:KEY                      there is such an attribute
//	attributes.KEY = "VALUE"            it has this value
//	attributes.KEY != "VALUE"           it has not, or there is none
//	hasPrefix(attributes.KEY, "START")  it begins like this
//
// joined by AND, OR, NOT (or -) and parentheses. NOT binds tightest; AND and OR do not mix without parentheses. All is
// case-sensitive. A key is of letters, digits, - and _, or any text in quotes.
package filter
