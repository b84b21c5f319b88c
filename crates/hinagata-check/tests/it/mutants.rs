//! Declared prompts with one misspelt name: the check finds it, at its place.

use std::fs;

use hinagata_catalog::{Catalog, CatalogOptions};
use hinagata_check::{CheckOptions, Finding, check_workspace};

/// The files of a workspace without findings.
const FILES: [(&str, &str); 6] = [
    (
        "reply/template.md",
        "---\n\
         parameters:\n  \
           customer: {type: object, required: true, schema: {type: object, properties: {name: {type: string}, plan: {enum: [free, paid]}}, required: [name, plan]}}\n  \
           tickets: {type: list, required: true, schema: {type: array, items: {type: object, properties: {title: {type: string}, open: {type: boolean}, tags: {type: array, items: {type: string}}}, required: [title, open, tags]}}}\n  \
           tone: {type: string, required: true}\n  \
           limit: {type: integer, required: true}\n\
         ---\n\
         {% extends \"partials/letter.md\" %}\n\
         {% from \"partials/macros.md\" import heading %}\n\
         {% block opening %}Dear {{ customer.name|title }},{% endblock %}\n\
         {% block body %}\n\
         {% include \"partials/tone.md\" %}\n\
         {% macro item(ticket, number=1) %}{{ number }}. {{ ticket.title|trim }}{% endmacro %}\n\
         {% for ticket in tickets if ticket.open %}\n\
         {{ item(ticket, number=loop.index) }}\n\
         {% for tag in ticket.tags %}{{ tag.upper() }}{% endfor %}\n\
         {% endfor %}\n\
         {% if customer.plan == \"paid\" %}{{ tickets|length }} of {{ limit }}{% endif %}\n\
         {% if tone is string %}{{ tone|replace(\"a\", \"b\") }}{% endif %}\n\
         {% endblock %}\n",
    ),
    ("partials/letter.md", "{% block opening %}{% endblock %}\n{% block body %}{% endblock %}\nYours\n"),
    ("partials/macros.md", "{% macro heading(text) %}# {{ text }}{% endmacro %}\n"),
    ("partials/tone.md", "Write in a {{ tone }} tone.\n"),
    (
        "report/prompt.yaml",
        "engine: go\nparameters:\n  user: {type: object, required: true, schema: {type: object, properties: {name: {type: string}}, required: [name]}}\n  \
         items: {type: list, required: true, schema: {type: array, items: {type: object, properties: {title: {type: string}}, required: [title]}}}\n\
         prompt: '{{define \"line\"}}{{.title}}{{end}}{{.user.name}}{{range .items}}{{template \"line\" .}}{{end}}{{len .items | printf \"%d\"}}'\n",
    ),
    (
        "chat/prompt.yaml",
        "parameters:\n  question: {type: string, required: true}\n  history: {type: list, required: true}\nmessages:\n  - {role: system, content: 'Answer {{ question|length }}'}\n  - {history: history}\n  - {role: user, content: '{{ question }}'}\n",
    ),
];

/// A file, a text in it, and the misspelt text: of which part it is a misspelling shows the difference.
const MUTANTS: [(usize, &str, &str); 52] = [
    (0, "{{ limit }}", "{{ limt }}"),
    (0, "{{ limit }}", "{{ limits }}"),
    (0, "in tickets if", "in tikets if"),
    (0, "{{ tickets|length", "{{ ticket_s|length"),
    (0, "if tone is", "if tonne is"),
    (0, "{{ tone|replace", "{{ tome|replace"),
    (0, "{{ customer.name", "{{ custmer.name"),
    (0, "if customer.plan", "if costumer.plan"),
    (0, "customer.name|", "customer.nmae|"),
    (0, "customer.plan ==", "customer.pln =="),
    (0, "if ticket.open", "if ticket.opn"),
    (0, "in ticket.tags", "in ticket.tag"),
    (0, "== \"paid\"", "== \"payed\""),
    (0, "name|title", "name|titel"),
    (0, "title|trim", "title|trimm"),
    (0, "tickets|length", "tickets|lenght"),
    (0, "tone|replace", "tone|repalce"),
    (0, "is string", "is strng"),
    (0, "is string", "is a_string"),
    (0, "tag.upper()", "tag.uper()"),
    (0, "tag.upper()", "tag.upper(1)"),
    (0, "replace(\"a\", \"b\")", "replace(\"a\")"),
    (0, "replace(\"a\", \"b\")", "replace(\"a\", \"b\", 1, 2)"),
    (0, "replace(\"a\", \"b\")", "replace(\"a\", nwe=\"b\")"),
    (0, "item(ticket, number=", "item(ticket, numbr="),
    (0, "item(ticket, number=loop.index)", "item(ticket, 1, 2)"),
    (0, "{{ item(", "{{ itme("),
    (0, "block opening", "block openning"),
    (0, "block body", "block bdy"),
    (0, "partials/letter.md", "partials/leter.md"),
    (0, "partials/macros.md", "partials/macro.md"),
    (0, "partials/tone.md", "partials/tne.md"),
    (0, "for ticket in tickets", "for tickt in tickets"),
    (0, "for tag in", "for tg in"),
    (1, "block opening", "block opning"),
    (1, "block body", "block bodi"),
    (2, "{{ text }}", "{{ txt }}"),
    (3, "{{ tone }}", "{{ tne }}"),
    (4, ".user.name", ".usr.name"),
    (4, ".user.name", ".user.nam"),
    (4, "range .items", "range .itms"),
    (4, "{{.title}}", "{{.titel}}"),
    (4, "template \"line\"", "template \"lin\""),
    (4, "define \"line\"", "define \"lime\""),
    (4, "{{len .items", "{{lne .items"),
    (4, "len .items", "len .item"),
    (4, "| printf", "| prinft"),
    (5, "question|length", "queston|length"),
    (5, "question|length", "question|lenth"),
    (5, "{{ question }}", "{{ qestion }}"),
    (5, "role: system", "role: sytem"),
    (5, "history: history}", "history: histry}"),
];

fn check_with(change: Option<(usize, &str, &str)>) -> Vec<Finding> {
    let root = tempfile::tempdir().expect("a directory");
    for (number, (path, text)) in FILES.iter().enumerate() {
        let text = match change {
            Some((at, from, to)) if at == number => {
                assert!(text.contains(from), "{from} is not in {path}");
                text.replacen(from, to, 1)
            }
            _ => (*text).to_owned(),
        };
        let path = root.path().join("user_data/shared/prompts").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let catalog = Catalog::open(CatalogOptions::new(root.path()));
    check_workspace(&catalog, &CheckOptions::default())
}

fn describe(findings: &[Finding]) -> Vec<String> {
    let line = |finding: &Finding| {
        let place = finding.place().map(ToString::to_string);
        format!("{} {} {}", finding.code.code, finding.error.message(), place.unwrap_or_default())
    };
    findings.iter().map(line).collect()
}

#[test]
fn a_misspelt_name_is_found() {
    let none = check_with(None);
    assert!(none.is_empty(), "{:#?}", describe(&none));
    let missed: Vec<String> = MUTANTS
        .iter()
        .filter(|mutant| check_with(Some(**mutant)).is_empty())
        .map(|(at, from, to)| format!("{}: {from} -> {to}", FILES[*at].0))
        .collect();
    println!("{} of {} misspelt names found", MUTANTS.len() - missed.len(), MUTANTS.len());
    assert!(missed.len() * 50 <= MUTANTS.len(), "more than 2 % are missed: {missed:#?}");
}
