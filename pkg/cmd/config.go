package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// defaultImage has ss and nstat (iproute2), runs as any user, is built for amd64
// and arm64, and is what people already have on their nodes for debugging:
// the tag is pinned so that two people who look at a pod ask for the same probe.
const defaultImage = "docker.io/nicolaka/netshoot:v0.13"

// imageVariable names the probe image where a flag would be in the way.
const imageVariable = "KUBECTL_BACKLOG_IMAGE"

// config is the file for what a team sets once.
type config struct {
	// Image of the probe, for instance one in a private registry.
	Image string `json:"image,omitempty"`
}

// world is what a command takes from its environment, so that tests can set it.
type world struct {
	getenv    func(string) string
	configDir func() (string, error)
	readFile  func(string) ([]byte, error)
	cacheDir  func() (string, error)
}

func realWorld() world {
	return world{getenv: os.Getenv, configDir: os.UserConfigDir, readFile: os.ReadFile, cacheDir: os.UserCacheDir}
}

// probeImage is the image for new probes: the flag, else the variable, else the
// configuration file, else the default.
func (w world) probeImage(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if v := w.getenv(imageVariable); v != "" {
		return v, nil
	}
	c, err := w.readConfig()
	if err != nil {
		return "", err
	}
	if c.Image != "" {
		return c.Image, nil
	}
	return defaultImage, nil
}

// readConfig reads kubectl-backlog/config.yaml in the user's configuration
// folder. A file that is not there is an empty one; a key that nobody knows is a
// mistake worth telling.
func (w world) readConfig() (config, error) {
	dir, err := w.configDir()
	if err != nil {
		return config{}, nil //nolint:nilerr // no home, no configuration file
	}
	path := filepath.Join(dir, "kubectl-backlog", "config.yaml")
	data, err := w.readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config{}, nil
	}
	if err != nil {
		return config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	var c config
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return config{}, fmt.Errorf("reading the configuration %s: %w", path, err)
	}
	return c, nil
}

// flightDir is where the flight recorder writes: what is there may be removed at any
// time without harm.
func (w world) flightDir() (string, error) {
	dir, err := w.cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "kubectl-backlog", "flight"), nil
}
