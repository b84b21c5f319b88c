//! The table of languages. A language with braces or with indented bodies is a row.

use super::language::{
    Apostrophe,
    Comment::{Block, Line, Lines, LongBrackets, Nested, Word},
    Forms, Heredoc, Quote, RawString,
    Role::{
        Attribute, BlockCall, Call, Container, Continuation, Elaborated, End, Enumeration, Flow, Function,
        Item, ItemList, Label, List, Template,
    },
    Row, Shape, Signatures, Statements,
};

/// A string that ends with its line and has escapes.
const fn short(quote: &'static str) -> Quote {
    Quote { spans_lines: false, ..long(quote) }
}

/// A string over lines that has escapes.
const fn long(quote: &'static str) -> Quote {
    Quote { has_escapes: true, ..verbatim(quote, quote) }
}

/// A string over lines without escapes.
const fn verbatim(open: &'static str, close: &'static str) -> Quote {
    Quote { open, close, has_escapes: false, is_doubled: false, spans_lines: true, expression: None }
}

/// A string in which `start` and the closing bracket surround expressions.
const fn template(quote: Quote, start: &'static str) -> Quote {
    Quote { expression: Some(start), ..quote }
}

/// Forms that no language has.
const NO_FORMS: Forms = Forms {
    has_regex: false,
    has_jsx: false,
    has_directives: false,
    is_in_html: false,
    has_word_braces: false,
    has_bare_bodies: false,
    has_docstrings: false,
    has_functions_in_braces: false,
    has_dollar_words: false,
};

/// What most languages with braces share.
const BRACES: Row = Row {
    name: "",
    extensions: &[],
    file_names: &[],
    interpreters: &[],
    shape: Shape::Braces,
    comments: &[Line("//"), Block("/*", "*/")],
    quotes: &[short("\"")],
    apostrophe: Apostrophe::Character,
    raw: RawString::None,
    heredoc: Heredoc::None,
    forms: NO_FORMS,
    words: &[],
    operators: &[],
    statements: Statements::Semicolons,
    signatures: Signatures::InContainers,
};

const C: Row = Row {
    name: "C",
    extensions: &["c"],
    forms: Forms { has_directives: true, ..NO_FORMS },
    words: &[
        (Elaborated, &["struct", "union", "extern"]),
        (Enumeration, &["enum"]),
        (Item, &["typedef"]),
        (Attribute, &["__attribute__", "__declspec", "_Alignas", "alignas"]),
    ],
    signatures: Signatures::Everywhere,
    ..BRACES
};

const JAVASCRIPT: Row = Row {
    name: "JavaScript",
    extensions: &["js", "mjs", "cjs", "jsx"],
    interpreters: &["node", "deno", "bun"],
    quotes: &[short("\""), short("'"), template(long("`"), "${")],
    apostrophe: Apostrophe::Plain,
    forms: Forms {
        has_regex: true,
        has_jsx: true,
        has_bare_bodies: true,
        has_dollar_words: true,
        ..NO_FORMS
    },
    words: &[
        (Container, &["class"]),
        (Function, &["function"]),
        (Flow, &["if", "else", "for", "while", "do", "switch", "try", "catch", "finally", "with"]),
        (List, &["import", "export", "default", "return", "from", "case", "const", "let", "var"]),
        (Call, &["describe", "suite", "context", "define", "$", "jQuery", "ready"]),
        (Continuation, &["extends"]),
    ],
    operators: &[
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "do",
        "else",
        "void",
        "delete",
        "throw",
        "new",
        "instanceof",
        "yield",
        "await",
        "default",
    ],
    statements: Statements::Lines,
    ..BRACES
};

const TYPESCRIPT: Row = Row {
    name: "TypeScript",
    extensions: &["ts", "mts", "cts"],
    interpreters: &["ts-node", "tsx"],
    forms: Forms { has_jsx: false, ..JAVASCRIPT.forms },
    words: &[
        (Container, &["class", "interface", "namespace", "module", "global", "type"]),
        (Enumeration, &["enum"]),
        (Function, &["function"]),
        (Flow, &["if", "else", "for", "while", "do", "switch", "try", "catch", "finally", "with"]),
        (List, &["import", "export", "default", "return", "from", "case", "const", "let", "var"]),
        (Call, &["describe", "suite", "context", "define"]),
        (Continuation, &["extends", "implements"]),
    ],
    ..JAVASCRIPT
};

/// What languages with indented bodies share.
const INDENTED: Row =
    Row { shape: Shape::Indented, comments: &[Line("#")], apostrophe: Apostrophe::Plain, ..BRACES };

/// What formats of data share.
const DATA: Row = Row { comments: &[], ..BRACES };

/// All languages. Where two have the same extension, the first one counts.
pub(super) static LANGUAGES: &[Row] = &[
    Row {
        name: "Rust",
        extensions: &["rs"],
        comments: &[Line("//"), Nested("/*", "*/")],
        quotes: &[long("\"")],
        apostrophe: Apostrophe::OneCharacter,
        raw: RawString::Rust,
        words: &[
            (Container, &["impl", "trait", "mod", "struct", "extern", "union"]),
            (Enumeration, &["enum"]),
            (Function, &["fn", "macro_rules", "macro"]),
            (Item, &["type"]),
        ],
        signatures: Signatures::Never,
        ..BRACES
    },
    Row {
        name: "Python",
        extensions: &["py", "pyi", "pyw"],
        file_names: &["SConstruct", "SConscript"],
        interpreters: &["python", "pypy"],
        quotes: &[long("\"\"\""), long("'''"), short("\""), short("'")],
        forms: Forms { has_docstrings: true, ..NO_FORMS },
        words: &[(Function, &["def"]), (Container, &["class"])],
        ..INDENTED
    },
    JAVASCRIPT,
    TYPESCRIPT,
    Row {
        name: "TSX",
        extensions: &["tsx"],
        forms: Forms { has_jsx: true, ..JAVASCRIPT.forms },
        interpreters: &[],
        ..TYPESCRIPT
    },
    Row {
        name: "Go",
        extensions: &["go"],
        quotes: &[short("\""), verbatim("`", "`")],
        words: &[(Container, &["struct", "interface"]), (Function, &["func"]), (ItemList, &["type"])],
        statements: Statements::Lines,
        ..BRACES
    },
    Row {
        name: "Java",
        extensions: &["java"],
        quotes: &[long("\"\"\""), short("\"")],
        forms: Forms { has_bare_bodies: true, ..NO_FORMS },
        words: &[(Container, &["class", "interface", "record"]), (Enumeration, &["enum"])],
        ..BRACES
    },
    C,
    Row {
        name: "C++",
        extensions: &["cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inl", "ipp", "tpp", "cu", "cuh"],
        raw: RawString::Cpp,
        words: &[
            (Container, &["class", "namespace"]),
            (Elaborated, &["struct", "union", "extern"]),
            (Enumeration, &["enum"]),
            (Item, &["typedef", "concept", "using"]),
            (Attribute, &["__attribute__", "__declspec", "alignas", "explicit", "requires"]),
            (Label, &["public", "private", "protected", "signals", "slots"]),
            (Template, &["template"]),
        ],
        ..C
    },
    Row {
        name: "C#",
        extensions: &["cs", "csx"],
        quotes: &[
            verbatim("\"\"\"", "\"\"\""),
            template(Quote { is_doubled: true, ..verbatim("$@\"", "\"") }, "{"),
            template(Quote { is_doubled: true, ..verbatim("@$\"", "\"") }, "{"),
            Quote { is_doubled: true, ..verbatim("@\"", "\"") },
            template(Quote { open: "$\"", ..short("\"") }, "{"),
            short("\""),
        ],
        forms: Forms { has_directives: true, has_bare_bodies: true, ..NO_FORMS },
        words: &[
            (Container, &["class", "interface", "struct", "record", "namespace"]),
            (Enumeration, &["enum"]),
            (Item, &["delegate"]),
        ],
        ..BRACES
    },
    Row {
        name: "Ruby",
        extensions: &["rb", "rake", "gemspec", "ru"],
        file_names: &["Gemfile", "Rakefile", "Vagrantfile", "Guardfile", "Podfile", "Fastfile", "Brewfile"],
        interpreters: &["ruby", "jruby", "rake"],
        comments: &[Line("#"), Lines("=begin", "=end")],
        quotes: &[template(long("\""), "#{"), long("'"), template(long("`"), "#{")],
        raw: RawString::Ruby,
        heredoc: Heredoc::Ruby,
        forms: Forms { has_regex: true, ..NO_FORMS },
        words: &[
            (Function, &["def"]),
            (BlockCall, &["it", "specify", "test", "task", "before", "after", "setup", "teardown"]),
            (Container, &["class", "module", "describe", "context", "namespace", "RSpec"]),
            (Continuation, &["rescue", "ensure", "else", "elsif"]),
            (End, &["end"]),
        ],
        operators: &[
            "if", "elsif", "unless", "while", "until", "and", "or", "not", "when", "return", "puts", "then",
            "do", "in", "case", "yield", "else", "begin", "ensure",
        ],
        ..INDENTED
    },
    Row {
        name: "PHP",
        extensions: &["php", "php5", "phtml", "inc"],
        interpreters: &["php"],
        comments: &[Line("//"), Line("#"), Block("/*", "*/")],
        quotes: &[long("\""), long("'")],
        apostrophe: Apostrophe::Plain,
        heredoc: Heredoc::Php,
        forms: Forms { is_in_html: true, has_bare_bodies: true, has_dollar_words: true, ..NO_FORMS },
        words: &[
            (Container, &["class", "interface", "trait", "namespace"]),
            (Enumeration, &["enum"]),
            (Function, &["function", "fn"]),
            (Flow, &["if", "else", "elseif", "for", "foreach", "while", "do", "switch", "try", "catch"]),
            (List, &["return", "use"]),
        ],
        ..BRACES
    },
    Row {
        name: "shell",
        extensions: &["sh", "bash", "zsh", "ksh", "ash", "dash", "bats"],
        file_names: &[".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv"],
        interpreters: &["sh", "bash", "zsh", "ksh", "dash", "ash", "bats"],
        comments: &[Word("#")],
        quotes: &[
            Quote { has_escapes: true, ..verbatim("$'", "'") },
            template(long("\""), "$("),
            verbatim("'", "'"),
        ],
        apostrophe: Apostrophe::Plain,
        heredoc: Heredoc::Shell,
        forms: Forms { has_word_braces: true, ..NO_FORMS },
        words: &[(Function, &["function"])],
        statements: Statements::EveryLine,
        signatures: Signatures::Never,
        ..BRACES
    },
    Row {
        name: "Kotlin",
        extensions: &["kt", "kts"],
        comments: &[Line("//"), Nested("/*", "*/")],
        quotes: &[template(verbatim("\"\"\"", "\"\"\""), "${"), template(short("\""), "${")],
        forms: Forms { has_bare_bodies: true, ..NO_FORMS },
        words: &[
            (Container, &["class", "interface", "object"]),
            (Function, &["fun"]),
            (Item, &["typealias"]),
            (Continuation, &["constructor", "where"]),
            (Flow, &["if", "else", "for", "while", "when", "try", "catch"]),
        ],
        statements: Statements::Lines,
        signatures: Signatures::Never,
        ..BRACES
    },
    Row {
        name: "Swift",
        extensions: &["swift"],
        comments: &[Line("//"), Nested("/*", "*/")],
        quotes: &[verbatim("#\"", "\"#"), template(long("\"\"\""), "\\("), template(short("\""), "\\(")],
        apostrophe: Apostrophe::Plain,
        forms: Forms { has_directives: true, has_bare_bodies: true, ..NO_FORMS },
        words: &[
            (Container, &["class", "struct", "protocol", "extension", "actor"]),
            (Enumeration, &["enum"]),
            (Function, &["func", "init", "deinit", "subscript"]),
            (Item, &["typealias", "associatedtype"]),
            (Continuation, &["where"]),
            (Flow, &["if", "else", "for", "while", "switch", "do", "catch", "guard"]),
        ],
        statements: Statements::Lines,
        signatures: Signatures::Never,
        ..BRACES
    },
    Row {
        name: "Scala",
        extensions: &["scala", "sc", "sbt"],
        comments: &[Line("//"), Nested("/*", "*/")],
        quotes: &[verbatim("\"\"\"", "\"\"\""), short("\"")],
        apostrophe: Apostrophe::OneCharacter,
        words: &[
            (Container, &["class", "object", "trait", "enum", "package", "extension"]),
            (Function, &["def"]),
            (Item, &["type", "given"]),
            (Continuation, &["extends", "with"]),
        ],
        statements: Statements::Lines,
        signatures: Signatures::Never,
        ..BRACES
    },
    Row {
        name: "Dart",
        extensions: &["dart"],
        comments: &[Line("//"), Nested("/*", "*/")],
        quotes: &[
            template(long("\"\"\""), "${"),
            template(long("'''"), "${"),
            template(short("\""), "${"),
            template(short("'"), "${"),
        ],
        apostrophe: Apostrophe::Plain,
        forms: Forms { has_bare_bodies: true, ..NO_FORMS },
        words: &[
            (Container, &["class", "mixin", "extension"]),
            (Enumeration, &["enum"]),
            (Item, &["typedef"]),
            (Call, &["group", "main"]),
            (Flow, &["if", "else", "for", "while", "switch", "try", "catch"]),
        ],
        ..BRACES
    },
    Row {
        name: "Lua",
        extensions: &["lua"],
        interpreters: &["lua", "luajit"],
        comments: &[LongBrackets("--"), Line("--")],
        quotes: &[short("\""), short("'")],
        raw: RawString::Lua,
        forms: Forms { has_functions_in_braces: true, ..NO_FORMS },
        words: &[(Function, &["function"]), (End, &["end"])],
        ..INDENTED
    },
    Row { name: "Markdown", extensions: &["md", "markdown", "mdx"], shape: Shape::Markdown, ..DATA },
    Row {
        name: "JSON",
        extensions: &["json", "jsonc", "json5", "geojson", "webmanifest"],
        comments: &[Line("//"), Block("/*", "*/")],
        quotes: &[short("\""), short("'")],
        apostrophe: Apostrophe::Plain,
        shape: Shape::Json,
        ..DATA
    },
    Row { name: "YAML", extensions: &["yaml", "yml"], shape: Shape::Yaml, ..DATA },
    Row {
        name: "TOML",
        extensions: &["toml"],
        comments: &[Line("#")],
        quotes: &[long("\"\"\""), verbatim("'''", "'''"), short("\""), short("'")],
        apostrophe: Apostrophe::Plain,
        shape: Shape::Toml,
        ..DATA
    },
];
