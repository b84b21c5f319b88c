//! What a template reads, uses and defines, without running it.
//!
//! Where a value comes from is followed through `with`, `range`, variables and calls of templates
//! with another dot, so that `{{range .tools}}{{.name}}{{end}}` reads `tools` and `tools[].name`.
//! The answer is for those who fetch values, complete names and check prompts: where it cannot be
//! exact it names too much rather than too little. What a function returns is unknown to it.

mod path;
mod places;
mod walk;

pub use path::{Path, PathPart};

use self::places::Places;
use crate::{
    Set,
    tree::{Builtin, ExprKind, FunctionRef, Node, Tree},
};

/// What a template of a set reads, and what the sources of the set use and define. Every list is in
/// source order.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// Parts of the data that are read, one entry for each place, in all templates that can be reached.
    pub variables: Vec<VariableUse>,
    /// Functions that are called, in all templates of the set.
    pub functions: Vec<FunctionUse>,
    /// Templates that are called, in all templates of the set.
    pub templates: Vec<TemplateUse>,
    /// Templates that the sources define, by `define` or `block`.
    pub defines: Vec<Define>,
    /// Actions that print something.
    pub prints: Vec<Position>,
    /// Loops, with what they go over where that is one part of the data.
    pub loops: Vec<(Position, Path)>,
}

/// Where in its source something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// What a part of the data is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// Its value is needed.
    Value,
    /// It may be missing: another argument of an `or` takes its place.
    Default,
    /// Only whether it counts as true is asked.
    Condition,
}

/// A part of the data that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    /// What is read.
    pub path: Path,
    /// What for.
    pub usage: Usage,
    /// The template that reads it.
    pub template: Box<str>,
    /// Where.
    pub position: Position,
}

/// A function that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionUse {
    /// Its name.
    pub name: Box<str>,
    /// Whether every template has it.
    pub builtin: bool,
    /// Where.
    pub position: Position,
}

/// A template that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateUse {
    /// Its name.
    pub name: Box<str>,
    /// Whether the set defines it.
    pub defined: bool,
    /// The parts of the data that it may get as its data; none when it gets nothing, or a value that
    /// is computed, or when the call cannot be reached.
    pub data: Vec<Path>,
    /// Where.
    pub position: Position,
}

/// A template that is defined inside a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Define {
    /// Its name.
    pub name: Box<str>,
    /// Where its name stands.
    pub position: Position,
}

impl Set {
    /// What the template `entry` reads, and what the sources of the set use and define; `None` when
    /// there is no template of that name. Takes time in proportion to the sources, and to the different
    /// data that templates are called on, up to a bound.
    #[must_use]
    pub fn analyze(&self, entry: &str) -> Option<Analysis> {
        let entry = self.number(entry)?;
        let places = Places::new(self);
        let mut analysis = walk::walk(self, entry, &places);
        for tree in self.trees() {
            names(tree, &places, &mut analysis);
        }
        analysis.functions.sort_by_key(|used| used.position);
        analysis.templates.sort_by_key(|used| used.position);
        analysis.defines.sort_by_key(|define| define.position);
        Some(analysis)
    }
}

/// Functions, definitions and actions of a tree; these need no data.
fn names(tree: &Tree, places: &Places<'_>, analysis: &mut Analysis) {
    for expr in &tree.exprs {
        if let ExprKind::Function(function) = &expr.kind {
            let (name, builtin) = match function {
                FunctionRef::Builtin(builtin) => (Builtin::name(*builtin), true),
                FunctionRef::Host(index) => (&*tree.functions[*index as usize].name, false),
            };
            let position = places.position(tree, expr.at as usize, name.len());
            analysis.functions.push(FunctionUse { name: name.into(), builtin, position });
        }
    }
    for node in &tree.nodes {
        if let Node::Action(action) = node
            && tree.pipes[action.pipe as usize].variables.is_empty()
        {
            let end = action_end(tree, action.at as usize);
            let length = end - action.at as usize;
            analysis.prints.push(places.position(tree, action.at as usize, length));
        }
    }
    if tree.name != tree.source.name {
        let position = places.position(tree, tree.start as usize, 0);
        analysis.defines.push(Define { name: tree.name.clone(), position });
    }
}

/// Where the action ends that holds the byte `at`.
fn action_end(tree: &Tree, at: usize) -> usize {
    let rest = &tree.source.text[at..];
    // A delimiter inside a string literal ends it too early, which only makes the action shorter.
    at + rest.find(&*tree.source.delims.right).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use hinagata_value::{Budget, Functions, Limits};

    use super::*;
    use crate::Options;

    fn analyze(source: &str) -> Analysis {
        let mut set = Set::new(Options::default(), &Functions::new());
        set.parse("main", source, &Budget::new(Limits::default())).expect("is right");
        set.analyze("main").expect("is there")
    }

    fn reads(source: &str) -> Vec<String> {
        let shown = |used: &VariableUse| match used.usage {
            Usage::Value => used.path.to_string(),
            Usage::Default => format!("{}|", used.path),
            Usage::Condition => format!("{}?", used.path),
        };
        analyze(source).variables.iter().map(shown).collect()
    }

    #[test]
    fn paths_are_followed_to_where_they_start() {
        assert_eq!(reads("{{.a.b}} {{$.c}} {{.}}"), ["a.b", "c", "."]);
        assert_eq!(reads("{{with .user}}{{.name}}{{end}}"), ["user?", "user.name"]);
        assert_eq!(
            reads("{{range $i, $t := .tools}}{{$t.name}}{{.id}}{{$.x}}{{end}}"),
            ["tools", "tools[].name", "tools[].id", "x"]
        );
        assert_eq!(
            reads("{{$u := .user}}{{$u.name}}{{$n := $u.profile}}{{$n.age}}"),
            ["user", "user.name", "user.profile", "user.profile.age"]
        );
        assert_eq!(
            reads(r#"{{(index .list 0).x}}{{(index .map "k y").z}}{{(index .map .key).w}}"#),
            ["list[0]", "list[0].x", "map[\"k y\"]", "map[\"k y\"].z", "map[]", "key", "map[].w"]
        );
    }

    #[test]
    fn assignments_add_to_what_a_variable_may_be() {
        let source = "{{$x := .a}}{{range .l}}{{$x.n}}{{$x = .b}}{{end}}";
        assert_eq!(reads(source), ["a", "l", "a.n", "l[].b.n", "l[].b"]);
    }

    #[test]
    fn templates_are_followed_with_the_dot_they_get() {
        let source = r#"{{define "d"}}{{.name}}{{$.id}}{{end}}{{template "d" .user}}{{range .all}}{{template "d" .}}{{end}}"#;
        assert_eq!(reads(source), ["user.name", "all[].name", "user.id", "all[].id", "all"]);
        let analysis = analyze(r#"{{template "other" .user}}{{define "x"}}{{end}}{{block "y" .}}{{end}}"#);
        let other = &analysis.templates[0];
        assert_eq!(
            (&*other.name, other.defined, other.data[0].to_string()),
            ("other", false, "user".to_owned())
        );
        assert_eq!(analysis.defines.iter().map(|define| &*define.name).collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn a_template_that_calls_itself_is_followed_to_an_end() {
        let source = r#"{{define "node"}}{{.v}}{{range .kids}}{{template "node" .}}{{end}}{{end}}{{template "node" .tree}}"#;
        let reads = reads(source);
        assert!(reads.contains(&"tree.kids[].kids[].v".to_owned()), "{reads:?}");
        assert!(reads.len() < 100);
    }

    #[test]
    fn asking_whether_something_is_there_is_not_reading_it() {
        assert_eq!(
            reads("{{if .a}}{{end}}{{if not .b}}{{end}}{{if and .c .d}}{{end}}"),
            ["a?", "b?", "c?", "d?"]
        );
        assert_eq!(reads("{{if eq .a 1}}{{end}}{{or .b .c}}{{and .d .e}}"), ["a", "b|", "c", "d?", "e"]);
    }

    #[test]
    fn positions_cover_the_whole_path() {
        let analysis = analyze("é {{ .a.b }}\n{{$x := 1}}{{ $x.y }}{{printf \"%d\" $.z.w}}");
        let spans: Vec<_> = analysis.variables.iter().map(|used| used.position).collect();
        assert_eq!(spans[0], Position { start: 6, end: 10, line: 1, column: 6 });
        assert_eq!((spans[1].line, spans[1].end - spans[1].start), (2, 5));
        assert_eq!(analysis.functions[0].name.as_ref(), "printf");
        assert_eq!(analysis.prints.len(), 3);
    }
}
