// The keywords of a schema, and where each leads.

package schema

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
	case "items":
		if _, isList := value.([]any); isList {
			c.fail(at, "a list is not a schema; schemas by position are prefixItems")
		}
		n.listRules().items = c.schema(value, at)
	case "prefixItems":
		n.listRules().prefix = c.schemaList(value, at)
	case "contains":
		n.listRules().contains = c.schema(value, at)
	case "minContains":
		n.listRules().minContains = c.count(value, at)
	case "maxContains":
		n.listRules().maxContains = c.count(value, at)
	case "minItems":
		n.listRules().minItems = c.count(value, at)
	case "maxItems":
		n.listRules().maxItems = c.count(value, at)
	case "uniqueItems":
		n.listRules().unique = c.flag(value, at)
	case "properties":
		n.objectRules().names, n.objectRules().properties = c.schemas(value, at)
	case "patternProperties":
		n.objectRules().patterns = c.readPatterns(value, at)
	case "additionalProperties":
		n.objectRules().additional = c.schema(value, at)
	case "propertyNames":
		n.objectRules().propertyNames = c.schema(value, at)
	case "required":
		n.objectRules().required = c.names(value, at)
	case "minProperties":
		n.objectRules().minProperties = c.count(value, at)
	case "maxProperties":
		n.objectRules().maxProperties = c.count(value, at)
	case "allOf":
		n.logicRules().allOf = c.schemaList(value, at)
	case "anyOf":
		n.logicRules().anyOf = c.schemaList(value, at)
	case "oneOf":
		n.logicRules().oneOf = c.schemaList(value, at)
	case "not":
		n.logicRules().not = c.schema(value, at)
	case "if":
		n.logicRules().ifNode = c.schema(value, at)
	case "then":
		n.logicRules().then = c.schema(value, at)
	case "else":
		n.logicRules().orElse = c.schema(value, at)
	default:
		return false
	}
	return true
}
