//! Finds what a Go template reads, uses and defines, without running it.
//!
//! The analysis follows values through `with`, `range`, variables and calls of templates with another dot,
//! so that `{{range .tools}}{{.name}}{{end}}` reads `tools` and `tools[].name`. The results of functions are
//! unknown.

mod origin;
mod places;
mod walk;

use hinagata_value::analysis::{Analysis, MacroDefinition, NameUse, Position, RoleUse};

use self::places::Places;
use crate::{
    Set,
    tree::{Builtin, ExprKind, FunctionRef, Node, Tree},
};

impl Set {
    /// Analyses the template `entry`: what it reads, and what the sources of the set use and define.
    /// `None` if the set has no such template. The time is proportional to the size of the sources and to the
    /// number of different data that templates are called on, up to a limit.
    #[must_use]
    pub fn analyze_template(&self, entry: &str) -> Option<Analysis> {
        let entry = self.template_number(entry)?;
        let places = Places::new(self);
        let mut analysis = walk::follow_data(self, entry, &places);
        for tree in self.trees() {
            add_names(tree, &places, &mut analysis);
        }
        analysis.functions.sort_by_key(|used| used.position);
        analysis.templates.sort_by_key(|used| used.position);
        analysis.macros.sort_by_key(|define| define.position);
        analysis.roles.sort_by_key(|role| role.position);
        Some(analysis)
    }
}

/// Adds functions, definitions and actions of a tree; these need no data.
fn add_names(tree: &Tree, places: &Places<'_>, analysis: &mut Analysis) {
    for expr in &tree.exprs {
        if let ExprKind::Function(function) = &expr.kind {
            let name = match function {
                FunctionRef::Builtin(builtin) => Builtin::name(*builtin),
                FunctionRef::Host(index) => &tree.functions[*index as usize].name,
            };
            let position = places.position(tree, expr.at as usize, name.len());
            if name == "role" {
                analysis.roles.push(role_use(&tree.source.text, position));
            }
            analysis.functions.push(NameUse { name: name.into(), position });
        }
    }
    for node in &tree.nodes {
        if let Node::Action(action) = node
            && tree.pipes[action.pipe as usize].variables.is_empty()
        {
            analysis.prints.insert(action.at, action_end(tree, action.at as usize) as u32);
        }
    }
    if tree.name != tree.source.name {
        let position = places.position(tree, tree.start as usize, 0);
        analysis.macros.push(MacroDefinition {
            name: tree.name.to_string(),
            position,
            ..MacroDefinition::default()
        });
    }
}

/// The start of a message. The role is known if a string literal follows the function.
fn role_use(text: &str, position: Position) -> RoleUse {
    let rest = text.get(position.end as usize..).unwrap_or_default().trim_start();
    let quoted = |quote: char| Some(rest.strip_prefix(quote)?.split_once(quote)?.0.to_owned());
    RoleUse { role: quoted('"').or_else(|| quoted('`')), position }
}

/// The end of the action that contains the byte `at`.
fn action_end(tree: &Tree, at: usize) -> usize {
    let rest = &tree.source.text[at..];
    // A delimiter inside a string literal ends the action too early. The only effect is a shorter range.
    at + rest.find(&*tree.source.delims.right).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use hinagata_value::{
        Budget, Functions, Limits,
        analysis::{PassedVariables, Usage, VariablePath, VariableUse},
    };

    use super::*;
    use crate::Options;

    fn analyze(source: &str) -> Analysis {
        let mut set = Set::new(Options::default(), &Functions::new());
        set.parse("main", source, &Budget::new(Limits::default())).expect("is right");
        set.analyze_template("main").expect("is there")
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
        assert_eq!(analysis.templates.len(), 1, "only templates that the set does not define are listed");
        assert_eq!(other.names, ["other"]);
        assert_eq!(other.passes, PassedVariables::Data(vec![VariablePath::new("user")]));
        assert_eq!(analysis.macros.iter().map(|define| &*define.name).collect::<Vec<_>>(), ["x", "y"]);
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
        assert_eq!(analysis.functions[0].name, "printf");
        assert_eq!(analysis.prints.len(), 3);
    }
}
