// Keys of cached node results (GraphSpec §4).

package machine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/graphrun/graphrun/eval"
	"github.com/graphrun/graphrun/internal/bind"
	"github.com/graphrun/graphrun/spec"
)

// cachePolicy is a node's cache block. The key depends on an expression, some state keys, or by default
// everything that the execution reads.
type cachePolicy struct {
	ttl        time.Duration
	definition string // kind, version and the kind's keys, as canonical JSON
	expr       *eval.Program
	keys       []int
}

func (b *builder) newCachePolicy(decl *spec.Cache, node *spec.Node, bound *bind.Node) *cachePolicy {
	fields := map[string]any{}
	for i := range node.Fields {
		fields[node.Fields[i].Key.Value] = node.Fields[i].Value.Data()
	}
	definition := map[string]any{"kind": node.Kind.Value, "version": decl.Version.Value, "fields": fields}
	out := &cachePolicy{ttl: decl.TTL, definition: eval.Text(definition), expr: bound.CacheKey}
	for _, name := range decl.Keys {
		out.keys = append(out.keys, b.keyIndex(name.Value))
	}
	return out
}

// setCacheKey sets the cache key of an attempt. env is the context of the task.
func (t *Task) setCacheKey(n *node, work *Work, env map[string]any) *Failure {
	var of any
	switch c := n.cache; {
	case c.expr != nil:
		value, err := t.scope.state.vm.Eval(c.expr, env)
		if err != nil {
			return expressionFailure("cache.key: ", err)
		}
		of = value
	case len(c.keys) > 0:
		values := make(map[string]any, len(c.keys))
		for _, i := range c.keys {
			values[t.scope.plan.keys[i].name] = t.view().value(i)
		}
		of = values
	default:
		all := map[string]any{"config": work.Config, "input": work.Input, "state": work.State, "item": work.Item}
		if talk := work.Talk; talk != nil {
			messages, err := json.Marshal(talk.Messages)
			if err != nil {
				return &Failure{Kind: "internal", Message: "cache: the conversation is not plain data: " + err.Error()}
			}
			all["talk"], all["prior"] = string(messages), talk.Prior
		}
		of = all
	}
	work.CacheKey = fmt.Sprintf("%x", sha256.Sum256([]byte(n.cache.definition+"\x00"+eval.Text(of))))
	work.CacheTTL = n.cache.ttl
	return nil
}
