// Package manifests checks the examples of temporal/deploy against the types that
// Kubernetes and Compose read them with. It is a module of its own for their sake.
package manifests

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const deploy = "../../deploy/"

func TestKubernetes(t *testing.T) {
	text, err := os.ReadFile(deploy + "kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatal(err)
		}
		into := map[string]any{"Deployment": &apps.Deployment{}, "PersistentVolumeClaim": &core.PersistentVolumeClaim{}}[head.Kind]
		if into == nil {
			t.Fatalf("no type for kind %q", head.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
		d, ok := into.(*apps.Deployment)
		if !ok {
			continue
		}
		for key, value := range d.Spec.Selector.MatchLabels {
			if d.Spec.Template.Labels[key] != value {
				t.Errorf("the selector's %s is not that of the pods", key)
			}
		}
		volumes := map[string]bool{}
		for _, v := range d.Spec.Template.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("container %s mounts %q, which is no volume", c.Name, m.Name)
				}
			}
		}
	}
}

func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{deploy + "compose.yaml"}, cli.WithName("graphrun"))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "temporal", "page", "worker"} {
		if _, err := project.GetService(name); err != nil {
			t.Error(err)
		}
	}
}
