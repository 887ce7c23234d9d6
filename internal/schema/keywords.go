// The keywords of a schema: which there are and where each leads.

package schema

// Keywords lists the keywords that a schema may hold, sorted.
func Keywords() []string {
	return []string{
		"$anchor", "$comment", "$defs", "$id", "$ref", "$schema",
		"additionalProperties", "allOf", "anyOf", "const", "contains",
		"contentEncoding", "contentMediaType", "contentSchema", "default",
		"definitions", "dependentRequired", "dependentSchemas", "deprecated",
		"description", "else", "enum", "examples", "exclusiveMaximum",
		"exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems",
		"maxLength", "maxProperties", "maximum", "minContains", "minItems",
		"minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf",
		"pattern", "patternProperties", "prefixItems", "properties",
		"propertyNames", "readOnly", "required", "then", "title", "type",
		"unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly",
	}
}

// keyword reads one keyword into n and tells whether there is such a keyword;
// at leads to it.
func (c *compiler) keyword(n *node, name string, value any, at []string) bool {
	switch name {
	case "$comment", "$schema", "contentEncoding", "contentMediaType", "contentSchema",
		"default", "deprecated", "description", "examples", "format", "readOnly",
		"title", "writeOnly":
		// Annotations check nothing.
	case "type":
		c.readType(n, value, at)
	case "enum":
		n.enum = c.readEnum(value, at)
	case "const":
		n.constant = &constant{value}
	case "minimum":
		n.numberRules().minimum = c.number(value, at)
	case "maximum":
		n.numberRules().maximum = c.number(value, at)
	case "exclusiveMinimum":
		n.numberRules().above = c.number(value, at)
	case "exclusiveMaximum":
		n.numberRules().below = c.number(value, at)
	case "multipleOf":
		n.numberRules().multipleOf = c.divisor(value, at)
	case "minLength":
		n.textRules().minLength = c.count(value, at)
	case "maxLength":
		n.textRules().maxLength = c.count(value, at)
	case "pattern":
		n.textRules().pattern = c.pattern(value, at)
	case "$ref":
		c.readRef(n, value, at)
	case "$anchor":
		c.readAnchor(n, value, at)
	case "$id":
		c.readID(value, at)
	case "$defs", "definitions":
		c.schemas(value, at)
	default:
		return c.listKeyword(n.listRules, name, value, at) ||
			c.objectKeyword(n.objectRules, name, value, at) ||
			c.logicKeyword(n.logicRules, name, value, at)
	}
	return true
}

func (c *compiler) listKeyword(rules func() *listRules, name string, value any, at []string) bool {
	switch name {
	case "items":
		if _, isList := value.([]any); isList {
			c.fail(at, "a list is not a schema; schemas by position are prefixItems")
		}
		rules().items = c.schema(value, at)
	case "prefixItems":
		rules().prefix = c.schemaList(value, at)
	case "contains":
		rules().contains = c.schema(value, at)
	case "minContains":
		rules().minContains = c.count(value, at)
	case "maxContains":
		rules().maxContains = c.count(value, at)
	case "minItems":
		rules().minItems = c.count(value, at)
	case "maxItems":
		rules().maxItems = c.count(value, at)
	case "uniqueItems":
		rules().unique = c.flag(value, at)
	case "unevaluatedItems":
		rules().unevaluated = c.schema(value, at)
	default:
		return false
	}
	return true
}

func (c *compiler) objectKeyword(rules func() *objectRules, name string, value any, at []string) bool {
	switch name {
	case "properties":
		rules().names, rules().properties = c.schemas(value, at)
	case "patternProperties":
		rules().patterns = c.readPatterns(value, at)
	case "additionalProperties":
		rules().additional = c.schema(value, at)
	case "propertyNames":
		rules().propertyNames = c.schema(value, at)
	case "required":
		rules().required = c.names(value, at)
	case "minProperties":
		rules().minProperties = c.count(value, at)
	case "maxProperties":
		rules().maxProperties = c.count(value, at)
	case "dependentRequired":
		rules().dependents = append(rules().dependents, c.readDependentRequired(value, at)...)
	case "dependentSchemas":
		rules().dependents = append(rules().dependents, c.readDependentSchemas(value, at)...)
	case "unevaluatedProperties":
		rules().unevaluated = c.schema(value, at)
	default:
		return false
	}
	return true
}

func (c *compiler) logicKeyword(rules func() *logicRules, name string, value any, at []string) bool {
	switch name {
	case "allOf":
		rules().allOf = c.schemaList(value, at)
	case "anyOf":
		rules().anyOf = c.schemaList(value, at)
	case "oneOf":
		rules().oneOf = c.schemaList(value, at)
	case "not":
		rules().not = c.schema(value, at)
	case "if":
		rules().ifNode = c.schema(value, at)
	case "then":
		rules().then = c.schema(value, at)
	case "else":
		rules().orElse = c.schema(value, at)
	default:
		return false
	}
	return true
}
