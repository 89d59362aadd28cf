package deploytest_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/taskerhq/tasker/embedded/kafka"
	_ "github.com/taskerhq/tasker/embedded/postgres"
	_ "github.com/taskerhq/tasker/embedded/rabbitmq"
	_ "github.com/taskerhq/tasker/embedded/redis"
	_ "github.com/taskerhq/tasker/embedded/s3"
	"github.com/taskerhq/tasker/internal/host/config"
)

// composed is the tested part of a service.
type composed struct {
	Image string `json:"image"`
	Build struct {
		Context, Dockerfile string
	} `json:"build"`
	Environment map[string]string `json:"environment"`
	Ports       []string          `json:"ports"`
	Volumes     []string          `json:"volumes"`
	DependsOn   map[string]any    `json:"depends_on"`
	Healthcheck map[string]any    `json:"healthcheck"`
}

// composition is the result of `docker compose` with several files.
type composition struct {
	Services map[string]composed `json:"services"`
	Volumes  map[string]any      `json:"volumes"`
	Configs  map[string]struct {
		Content string `json:"content"`
	} `json:"configs"`
}

// compose reads files below deploy/compose; later ones extend earlier ones.
func compose(t *testing.T, files ...string) composition {
	t.Helper()
	all := composition{Services: map[string]composed{}, Volumes: map[string]any{}}
	for _, file := range files {
		c := as[composition](t, yamlFile(t, "deploy/compose/"+file))
		for name, s := range c.Services {
			if had, ok := all.Services[name]; ok {
				maps.Copy(had.Environment, s.Environment)
				maps.Copy(had.DependsOn, s.DependsOn)
				s = had
			}
			all.Services[name] = s
		}
		maps.Copy(all.Volumes, c.Volumes)
		if c.Configs != nil {
			all.Configs = c.Configs
		}
	}
	return all
}

// secret matches a variable that must be set, with its explanation.
var secret = regexp.MustCompile(`\$\{[A-Z_]+:\?[^}]+\}`)

// TestCompose: foreign images are pinned, no port is published for other machines, everything has a health check, every
// named service and volume exists, and the settings of Tasker are valid.
func TestCompose(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[a-z0-9/]+:v?\d+(\.\d+)*(-[a-z-]+)?$`)
	for _, files := range [][]string{{"embedded.yml"}, {"postgres.yml"}, {"postgres.yml", "full.yml"}} {
		c := compose(t, files...)
		if len(c.Services) == 0 {
			t.Fatalf("%v have no services", files)
		}
		for name, s := range c.Services {
			at := strings.Join(files, " and ") + ": " + name
			if s.Build.Context == "" && !pinned.MatchString(s.Image) {
				t.Errorf("%s: the image %q has no version", at, s.Image)
			}
			if s.Healthcheck == nil {
				t.Errorf("%s has no health check", at)
			}
			for _, p := range s.Ports {
				if !strings.HasPrefix(p, "127.0.0.1:") {
					t.Errorf("%s publishes %s for other machines", at, p)
				}
			}
			for needed := range s.DependsOn {
				if _, ok := c.Services[needed]; !ok {
					t.Errorf("%s needs %s, which does not exist", at, needed)
				}
			}
			for _, v := range s.Volumes {
				from, _, _ := strings.Cut(v, ":")
				if _, named := c.Volumes[from]; named {
					continue
				}
				if _, err := os.Stat(filepath.Join("../../../deploy/compose", from)); err != nil {
					t.Errorf("%s mounts %s: %v", at, from, err)
				}
			}
			if s.Build.Context != "" {
				loads(t, at, s.Environment)
			}
		}
	}
}

// loads checks that variables are a valid configuration, with a value for secrets.
func loads(t *testing.T, at string, variables map[string]string) {
	t.Helper()
	var environ []string
	for name, value := range variables {
		environ = append(environ, name+"="+secret.ReplaceAllString(value, "secret"))
	}
	slices.Sort(environ)
	if _, err := config.Load(config.Sources{Environ: environ}); err != nil {
		t.Errorf("%s: %v in %q", at, err, environ)
	}
}

// TestComposedPrometheus: Prometheus's rule files exist, and it scrapes every node.
func TestComposedPrometheus(t *testing.T) {
	t.Parallel()
	c := compose(t, "postgres.yml", "full.yml")
	read := as[struct {
		Rules  []string `json:"rule_files"`
		Scrape []struct {
			Static []struct{ Targets []string } `json:"static_configs"`
		} `json:"scrape_configs"`
	}](t, yamlText(t, "prometheus.yml", []byte(c.Configs["prometheus"].Content)))
	for _, rule := range read.Rules {
		if _, err := os.Stat("../../../deploy/prometheus/" + strings.TrimPrefix(rule, "rules/")); err != nil {
			t.Error(err)
		}
	}
	nodes := 0
	for _, at := range read.Scrape[0].Static[0].Targets {
		name, _, _ := strings.Cut(at, ":")
		if c.Services[name].Build.Context == "" {
			t.Errorf("%s is no node", name)
		}
		nodes++
	}
	if nodes != 2 || len(read.Rules) < 3 {
		t.Errorf("Prometheus scrapes %d nodes and reads %v", nodes, read.Rules)
	}
}
