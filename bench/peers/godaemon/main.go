// A daemon that renders prompts as Go programs do it: net/http, text/template, and a snapshot of shared variables.
//
// It reads its state once, from a document as `hina store export` prints it, and says where it listens. A render
// that takes too long is answered with 503, and every request leaves a line in the log, as in the daemon that it is
// measured beside.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"text/template"
	"time"
)

// patience is the longest that a render may take.
const patience = 500 * time.Millisecond

// largestBody is the most that a request may say.
const largestBody = 4 << 20

type document struct {
	Environs  map[string]any `json:"environs"`
	Templates map[string]struct {
		Prompt string `json:"prompt"`
	} `json:"templates"`
}

// snapshot is everything that renders look at; nobody changes it.
type snapshot struct {
	environs  map[string]any
	templates map[string]*template.Template
}

type request struct {
	Variables map[string]any `json:"variables"`
}

type answer struct {
	Rendered string `json:"rendered_prompt"`
	Status   string `json:"status"`
}

type failure struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func load(path string) (*snapshot, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var read document
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, err
	}
	made := &snapshot{environs: map[string]any{}, templates: map[string]*template.Template{}}
	for id, value := range read.Environs {
		place(made.environs, strings.Split(id, "."), value)
	}
	for id, source := range read.Templates {
		// A variable that is missing is an error, as the design of the daemon asks.
		parsed, err := template.New(id).Option("missingkey=error").Parse(source.Prompt)
		if err != nil {
			return nil, err
		}
		made.templates[id] = parsed
	}
	return made, nil
}

// place puts a value where its path says, beneath maps that are made on the way.
func place(tree map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		below, ok := tree[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			tree[name] = below
		}
		tree = below
	}
	tree[path[len(path)-1]] = value
}

// data is what a template sees: the shared variables, and those of the request beside them. The trees
// below the first level are shared, not copied.
func (s *snapshot) data(variables map[string]any) map[string]any {
	all := make(map[string]any, len(s.environs)+1)
	maps.Copy(all, s.environs)
	all["variables"] = variables
	return all
}

func (s *snapshot) render(writer http.ResponseWriter, asked *http.Request) {
	parsed, ok := s.templates[asked.PathValue("id")]
	if !ok {
		fail(writer, http.StatusNotFound, "there is no such prompt")
		return
	}
	var body request
	if err := json.NewDecoder(http.MaxBytesReader(writer, asked.Body, largestBody)).Decode(&body); err != nil {
		fail(writer, http.StatusBadRequest, err.Error())
		return
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	if err := parsed.Execute(buffer, s.data(body.Variables)); err != nil {
		fail(writer, http.StatusBadRequest, err.Error())
		return
	}
	send(writer, http.StatusOK, answer{Rendered: buffer.String(), Status: "success"})
}

func fail(writer http.ResponseWriter, status int, message string) {
	send(writer, status, failure{Status: "error", Message: message})
}

func send(writer http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	// Who left does not read it.
	_, _ = writer.Write(text)
}

// noting is a writer that remembers how the request was answered.
type noting struct {
	http.ResponseWriter
	status int
}

func (n *noting) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// logged writes a line for each request that `inner` answers.
func logged(logger *slog.Logger, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, asked *http.Request) {
		start, noted := time.Now(), &noting{ResponseWriter: writer, status: http.StatusOK}
		inner.ServeHTTP(noted, asked)
		logger.LogAttrs(asked.Context(), slog.LevelInfo, "request",
			slog.String("method", asked.Method), slog.String("path", asked.URL.Path),
			slog.Int("status", noted.status), slog.Duration("took", time.Since(start)))
	})
}

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.1:0", "address and port")
	state := flag.String("state", "", "the document with templates and environs")
	lines := flag.String("log", os.DevNull, "the file that gets a line for each request")
	version := flag.Bool("version", false, "print the version of Go")
	flag.Parse()
	if *version {
		fmt.Println(runtime.Version())
		return
	}
	loaded, err := load(*state)
	if err != nil {
		log.Fatalf("error: %v", err)
	}
	file, err := os.Create(*lines)
	if err != nil {
		log.Fatalf("error: %v", err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatalf("error: %v", err)
	}
	routes := http.NewServeMux()
	render := http.TimeoutHandler(http.HandlerFunc(loaded.render), patience, "the render took too long")
	routes.Handle("POST /api/render/prompts/{id}", render)
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, logged(slog.New(slog.NewJSONHandler(file, nil)), routes)))
}
