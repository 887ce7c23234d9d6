// Assigning values to the fields of a Graph by their tags and types.

package spec

import (
	"reflect"
	"slices"
	"sync"
	"time"
)

// fieldsOf maps each struct of a graph and each key in the tags of its fields to the indexes of fields.
var fieldsOf = sync.OnceValue(func() map[reflect.Type]map[string][]int {
	out := map[reflect.Type]map[string][]int{}
	for _, holder := range []any{Graph{}, Goal{}, StateKey{}, Secret{}, Limits{}, Parallel{}, Concurrency{}, Retry{}, Cache{}, Node{}, Decide{}, Join{}, Edge{}} {
		t := reflect.TypeOf(holder)
		out[t] = map[string][]int{}
		for i := range t.NumField() {
			if name := t.Field(i).Tag.Get("key"); name != "" {
				out[t][name] = append(out[t][name], i)
			}
		}
	}
	return out
})

// fieldPointers returns pointers to the fields of a struct that hold the value of a key.
func fieldPointers(into any, name string) (out []any) {
	if into == nil {
		return nil
	}
	holder := reflect.ValueOf(into).Elem()
	for _, i := range fieldsOf()[holder.Type()][name] {
		out = append(out, holder.Field(i).Addr().Interface())
	}
	return out
}

// allocateField prepares a field for a value and returns a pointer to the struct or list that holds its parts.
func allocateField(field any, v *Value) any {
	if p := reflect.ValueOf(field).Elem(); p.Kind() == reflect.Pointer && fieldsOf()[p.Type().Elem()] != nil {
		p.Set(reflect.New(p.Type().Elem()))
		field = p.Interface()
	}
	switch p := field.(type) {
	case *Limits:
		p.Span, p.MaxStepsSpan, p.written = v.Span, v.Span, v.Fields
	case *Parallel:
		p.Span = v.Span
	case *Join:
		p.Span = v.Span
	case *Concurrency:
		p.Limit, p.OnBusy = 1, "wait"
	case *[]Retry:
		if v.Kind != List {
			return addRetry(p, v)
		}
	}
	return field
}

func addRetry(list *[]Retry, v *Value) *Retry {
	*list = append(*list, Retry{
		MaxAttempts: 3, InitialInterval: time.Second, Backoff: 2, MaxInterval: 30 * time.Second, Jitter: 0.1,
		HasMaxInterval: v.Get("max_interval") != nil, Span: v.Span,
	})
	return &(*list)[len(*list)-1]
}

// addPart adds an item of a list, or an entry of a map of names, and returns a pointer like allocateField.
func (d *decoder) addPart(into any, i int, name Text, v *Value) any {
	switch list := into.(type) {
	case *[]Retry:
		if v.Kind == Map {
			return addRetry(list, v)
		}
	case *[]*Edge:
		if v.Kind == Map {
			return &Edge{Span: v.Span, Decl: i}
		}
		d.graph.lacksEdges = true
	case *[]*Node:
		n := &Node{ID: name, Index: len(*list), Span: v.Span, OnMaxVisits: "fail", Routing: "first", hasUnknownExits: true}
		*list = append(*list, n)
		d.graph.nodes[n.ID.Value] = n
		if isReserved(name.Value) {
			d.report("reserved-name", name.At(0, len(name.Value)), "%q can't be the name of a node: it stands for an end of the graph", name.Value)
		}
		return n
	case *[]*StateKey:
		k := &StateKey{Name: name, Source: v, Schema: map[string]any{}}
		*list = append(*list, k)
		d.graph.keys[k.Name.Value] = k
		return k
	case *[]Secret:
		*list = append(*list, Secret{Name: name})
		return &(*list)[len(*list)-1]
	case *[]*Graph:
		if v.Kind == Map {
			inner := newGraph(d.file)
			inner.Entry, inner.whole, inner.Span = name, d.graph, v.Span
			*list = append(*list, inner)
			return inner
		}
	}
	return nil
}

// setField sets a field to a value. Only a string can be a name.
func setField(v *Value, to any, names bool) {
	switch p := to.(type) {
	case *Text:
		if !names || v.Kind == String {
			*p = v.Scalar()
		}
	case *[]Text:
		*p = readTexts(v, names)
	case *string:
		*p = v.Scalar().Value
	case *int:
		if v.Kind == Int {
			*p = int(v.bits)
		}
	case *float64:
		*p = toFloat(v)
	case *bool:
		if v.Kind == Bool {
			*p = v.bits != 0
		}
	case **bool:
		if v.Kind == Bool {
			*p = new(v.bits != 0)
		}
	case *time.Duration:
		length, err := time.ParseDuration(v.Scalar().Value)
		if err != nil {
			length = -1 // there is a finding already; 0 would mean no limit
		}
		*p = length
	case *Span:
		*p = v.Span
	case **Value:
		*p = v
	case *[]Value:
		*p = v.Items
	case *[]Field:
		*p = slices.DeleteFunc(slices.Clone(v.Fields), func(f Field) bool { return isExtension(f.Key.Value) })
	case *map[string]any:
		*p, _ = v.Data().(map[string]any)
	case *[]NamedExpr:
		*p = readExprs(v)
	case *Writes:
		p.Keys, p.Exprs = readTexts(v, true), readExprs(v) // one of them is empty
	case *[]End:
		*p = readEnds(v)
	case *Goal:
		if v.Kind != Map {
			p.Description = v.Scalar()
		}
	case **Cache:
		key := v.Get("key")
		if (*p).Key = key.Scalar(); key != nil && key.Kind == List {
			(*p).Keys = readTexts(key, true)
		}
	}
}

// readTexts returns the texts of a scalar or a list of scalars. Only strings can be names.
func readTexts(v *Value, names bool) (out []Text) {
	for _, item := range v.OneOrAll() {
		if t := item.Scalar(); t.IsSet() && (!names || item.Kind == String) {
			out = append(out, t)
		}
	}
	return out
}

// readExprs returns the entries of a map of expressions.
func readExprs(v *Value) (out []NamedExpr) {
	for i := range v.Fields {
		if t := v.Fields[i].Value.Scalar(); t.IsSet() {
			out = append(out, NamedExpr{Name: v.Fields[i].Key, Expr: t})
		}
	}
	return out
}

// readEnds reads both forms of `ends`. In a list, a node is its own label.
func readEnds(v *Value) (out []End) {
	for _, f := range v.Fields {
		if f.Value.Kind == String {
			out = append(out, End{Label: f.Key, Target: f.Value.Text})
		}
	}
	for _, t := range readTexts(v, true) {
		out = append(out, End{Label: t, Target: t})
	}
	return out
}
