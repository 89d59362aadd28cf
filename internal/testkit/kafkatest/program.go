package kafkatest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Version is the version of Kafka that tests start.
const Version = "4.1.1"

// OldestJava is the oldest Java that runs it.
const OldestJava = 17

type program struct {
	java string // the path of the command
	jars string // the directory of the JARs
}

// Program reports why a broker cannot be started; nil if it can.
func Program() error {
	_, err := find()
	return err
}

func find() (program, error) {
	java, err := findJava()
	if err != nil {
		return program{}, err
	}
	jars, err := directory()
	if err != nil {
		return program{}, err
	}
	if _, err := os.Stat(jars); err != nil {
		return program{}, fmt.Errorf(`kafka %s is %w: "go run ./internal/testkit/testenv true" fetches its JARs, with Maven, to %s`,
			Version, testserver.ErrMissing, jars)
	}
	return program{java: java, jars: jars}, nil
}

var javaVersion = regexp.MustCompile(`version "(\d+)`)

func findJava() (string, error) {
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if _, err := os.Stat(java); err != nil || os.Getenv("JAVA_HOME") == "" {
		if java, err = exec.LookPath("java"); err != nil {
			return "", fmt.Errorf("java, version %d or newer, is %w", OldestJava, testserver.ErrMissing)
		}
	}
	out, err := exec.Command(java, "-version").CombinedOutput()
	m := javaVersion.FindSubmatch(out)
	if err != nil || m == nil {
		return "", fmt.Errorf("ask %s for its version: %w: %s", java, errors.Join(err, testserver.ErrMissing), out)
	}
	if version, _ := strconv.Atoi(string(m[1])); version < OldestJava { // they are digits
		return "", fmt.Errorf("java, version %d or newer, is %w: %s is version %d", OldestJava, testserver.ErrMissing, java,
			version)
	}
	return java, nil
}

// directory is where the JARs are. Root's cache is closed to the account of servers.
func directory() (string, error) {
	cache := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("find the cache: %w", err)
		}
	}
	return filepath.Join(cache, "tasker-test", "kafka-"+Version), nil
}

// project names the JARs for Maven, with their dependencies.
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tasker</groupId>
  <artifactId>kafkatest</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>` + Version + `</version>
    </dependency>
  </dependencies>
</project>
`

// Fetch gets missing JARs with Maven, about 43 MB. Concurrent processes may call it.
func Fetch(log io.Writer) error {
	jars, err := directory()
	if err != nil {
		return err
	}
	if _, err := os.Stat(jars); err == nil {
		return nil
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("mvn, to fetch Kafka %s, is %w", Version, testserver.ErrMissing)
	}
	if err := os.MkdirAll(filepath.Dir(jars), 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(jars), "fetch-")
	if err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // a directory in a cache
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), []byte(project), 0o644); err != nil {
		return fmt.Errorf("write the project: %w", err)
	}
	lib := filepath.Join(work, "lib")
	cmd := exec.Command(maven, "--batch-mode", "--quiet", "--no-transfer-progress",
		"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies", "-DincludeScope=runtime",
		"-DoutputDirectory="+lib)
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fetch Kafka %s with Maven: %w", Version, err)
	}
	// All or nothing; if another process was faster, its directory is equivalent.
	if err := os.Rename(lib, jars); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep the JARs of Kafka: %w", err)
	}
	return nil
}
