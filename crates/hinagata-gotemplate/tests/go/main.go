// Answers template cases: one JSON case per line on stdin, one JSON answer per line on stdout.
//
// A case has the fields of the recorded cases (tests/vectors/gotemplate/README.md): sources as
// [name, text] pairs, entry, data, ints, missingkey, delims. The answer has output, or parse_error,
// or exec_error and output; bytes are base64, because output need not be UTF-8.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"
)

type request struct {
	Sources    [][2]string     `json:"sources"`
	Entry      string          `json:"entry"`
	Data       json.RawMessage `json:"data"`
	Ints       bool            `json:"ints"`
	MissingKey string          `json:"missingkey"`
	Delims     [2]string       `json:"delims"`
}

type answer struct {
	Output     []byte `json:"output"`
	ParseError []byte `json:"parse_error,omitempty"`
	ExecError  []byte `json:"exec_error,omitempty"`
	Panic      string `json:"panic,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		text, err := json.Marshal(run(r))
		if err != nil {
			panic(err)
		}
		out.Write(append(text, '\n'))
		out.Flush()
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}

func run(r request) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{Panic: fmt.Sprint(p)}
		}
	}()
	root := template.New(r.Sources[0][0]).Funcs(functions()).Option("missingkey="+r.MissingKey).Delims(r.Delims[0], r.Delims[1])
	set := root
	for i, source := range r.Sources {
		t := set
		if i > 0 {
			t = root.New(source[0])
		}
		if _, err := t.Parse(source[1]); err != nil {
			return answer{ParseError: []byte(err.Error())}
		}
	}
	out := &limited{}
	if err := root.ExecuteTemplate(out, r.Entry, decode(r.Data, r.Ints)); err != nil {
		return answer{Output: out.Bytes(), ExecError: []byte(err.Error())}
	}
	return answer{Output: out.Bytes()}
}

// limited stops a template that writes without end.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > 1<<22 {
		return 0, errors.New("too much output")
	}
	return l.Buffer.Write(p)
}

func decode(data json.RawMessage, ints bool) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return convert(v, ints)
}

func convert(v any, ints bool) any {
	switch v := v.(type) {
	case json.Number:
		if ints && !strings.ContainsAny(string(v), ".eE") {
			if i, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				return int(i)
			}
		}
		f, _ := strconv.ParseFloat(string(v), 64)
		return f
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = convert(item, ints)
		}
		return list
	case map[string]any:
		for key, item := range v {
			v[key] = convert(item, ints)
		}
	}
	return v
}

func functions() template.FuncMap {
	upper := strings.ToUpper
	add := func(a, b int) int { return a + b }
	half := func(f float64) float64 { return f / 2 }
	version := func() string { return "v1.2.3" }
	fail := func(msg string) (string, error) { return "", errors.New(msg) }
	concat := func(args ...any) string {
		var b strings.Builder
		for _, arg := range args {
			b.WriteString(fmt.Sprint(arg))
		}
		return b.String()
	}
	return template.FuncMap{
		"upper": upper, "lower": strings.ToLower, "add": add, "half": half, "version": version,
		"fail": fail, "concat": concat, "lookup": lookup, "dict": dict,
		"join": func(items []any, sep string) string {
			texts := make([]string, len(items))
			for i, item := range items {
				texts[i] = fmt.Sprint(item)
			}
			return strings.Join(texts, sep)
		},
		"list": func(args ...any) []any { return args },
		"yesno": func(b bool) string {
			if b {
				return "yes"
			}
			return "no"
		},
		"nothing": func() any { return nil },
		"echo":    func(v any) any { return v },
		"boom":    func() string { panic("kaboom") },
		"json": func(v any) (string, error) {
			text, err := json.Marshal(v)
			return string(text), err
		},
		"fnval": func(name string) (any, error) {
			return map[string]any{
				"upper": upper, "add": add, "concat": concat, "fail": fail, "version": version, "half": half,
			}[name], nil
		},
	}
}

func lookup(name string) (map[string]any, error) {
	switch name {
	case "alice":
		return map[string]any{"name": "Alice", "age": 30, "langs": []any{"en", "fr"}}, nil
	case "bob":
		boss := map[string]any{"name": "Alice"}
		return map[string]any{"name": "Bob", "age": 41, "langs": []any{}, "boss": boss}, nil
	case "empty":
		return map[string]any{}, nil
	case "nil":
		return nil, nil
	}
	return nil, fmt.Errorf("lookup: unknown name %q", name)
}

func dict(args ...any) (map[string]any, error) {
	if len(args)%2 != 0 {
		return nil, errors.New("dict: odd number of arguments")
	}
	m := make(map[string]any, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: key %d is not a string", i/2)
		}
		m[key] = args[i+1]
	}
	return m, nil
}
