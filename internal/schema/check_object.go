// Checking objects.

package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (c *checker) checkObject(r *objectRules, object map[string]any) *problem {
	if r == nil {
		return nil
	}
	if len(object) < r.minProperties {
		return fault(show(object) + " has fewer than " + plural(r.minProperties, "property"))
	}
	if r.maxProperties >= 0 && len(object) > r.maxProperties {
		return fault(show(object) + " has more than " + plural(r.maxProperties, "property"))
	}
	if p := missing(r.required, object); p != nil {
		return p
	}
	for _, name := range r.names {
		if v, ok := object[name]; ok {
			if p := c.check(r.properties[name], v); p != nil {
				return p.under(step{name: name})
			}
		}
	}
	return c.checkOthers(r, object)
}

func missing(required []string, object map[string]any) *problem {
	var names []string
	for _, name := range required {
		if _, ok := object[name]; !ok {
			names = append(names, strconv.Quote(name))
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return fault(names[0] + " is missing")
	}
	return fault(strings.Join(names, ", ") + " are missing")
}

// checkOthers runs what is said about names by pattern and about all others.
func (c *checker) checkOthers(r *objectRules, object map[string]any) *problem {
	if len(r.patterns) == 0 && r.additional == nil && r.propertyNames == nil {
		return nil
	}
	if r.patterns == nil && r.propertyNames == nil {
		// The common case: nothing but declared names.
		known := 0
		for _, name := range r.names {
			if _, ok := object[name]; ok {
				known++
			}
		}
		if known == len(object) {
			return nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if r.propertyNames != nil {
			if p := c.check(r.propertyNames, name); p != nil {
				p.message = "the name " + p.message
				return p
			}
		}
		for _, n := range r.others(nil, name) {
			if n.never && n == r.additional {
				return fault("unknown property " + strconv.Quote(name) + r.allowed())
			}
			if p := c.check(n, object[name]); p != nil {
				return p.under(step{name: name})
			}
		}
	}
	return nil
}

// others appends the schemas for a name besides that of properties.
func (r *objectRules) others(dst []*node, name string) []*node {
	_, known := r.properties[name]
	for _, rule := range r.patterns {
		if rule.pattern.MatchString(name) {
			known = true
			dst = append(dst, rule.node)
		}
	}
	if !known && r.additional != nil {
		dst = append(dst, r.additional)
	}
	return dst
}

func (r *objectRules) allowed() string {
	if len(r.names) == 0 || len(r.names) > 4*maxShown {
		return ""
	}
	return "; allowed: " + strings.Join(r.names, ", ")
}
