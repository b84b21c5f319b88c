// Go's text/template as a peer: speaks the lines that bench/src/child.rs describes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"
)

type workload struct {
	Template string `json:"template"`
	Data     any    `json:"data"`
}

func load(path string) (*template.Template, any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var work workload
	if err := json.Unmarshal(text, &work); err != nil {
		return nil, nil, err
	}
	functions := template.FuncMap{"add": func(a int, b int) int { return a + b }}
	parsed, err := template.New("main").Funcs(functions).Parse(work.Template)
	return parsed, work.Data, err
}

// processorTime is that of all threads, the collector's included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func run(parsed *template.Template, data any, iterations int) (string, error) {
	var buffer bytes.Buffer
	processor, wall := processorTime(), time.Now()
	for i := 0; i < iterations; i++ {
		buffer.Reset()
		if err := parsed.Execute(&buffer, data); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("time %d %d", time.Since(wall), processorTime()-processor), nil
}

func output(parsed *template.Template, data any) (string, error) {
	var buffer, line bytes.Buffer
	if err := parsed.Execute(&buffer, data); err != nil {
		return "", err
	}
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(buffer.String())
	return "output " + strings.TrimSuffix(line.String(), "\n"), err
}

func main() {
	var parsed *template.Template
	var data any
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		word, rest, _ := strings.Cut(input.Text(), " ")
		answer, err := "", error(nil)
		switch word {
		case "load":
			parsed, data, err = load(rest)
			answer = "ok " + runtime.Version()
		case "output":
			answer, err = output(parsed, data)
		case "run":
			var iterations int
			if iterations, err = strconv.Atoi(rest); err == nil {
				answer, err = run(parsed, data, iterations)
			}
		default:
			err = fmt.Errorf("unknown request %s", word)
		}
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(answer)
	}
}
