//! The table of all codes: what each means, with a wrong and a right example. Documentation, `--explain` and reports
//! come from it, and a test checks every example.

use crate::level::Level;

/// A file of an example: its path beneath the prompts directory, and its text.
pub type ExampleFile = (&'static str, &'static str);

/// A kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeSpec {
    /// `group.name`.
    pub code: &'static str,
    /// The usual level.
    pub level: Level,
    /// What is wrong, as a short sentence.
    pub title: &'static str,
    /// Why it matters and what to do.
    pub text: &'static str,
    /// Files that give the finding.
    pub wrong: &'static [ExampleFile],
    /// The same without it.
    pub right: &'static [ExampleFile],
}

impl CodeSpec {
    /// The part before the dot.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.code.split_once('.').map_or(self.code, |(group, _)| group)
    }
}

/// The code called `name`.
#[must_use]
pub fn find_code(name: &str) -> Option<&'static CodeSpec> {
    CODES.iter().copied().find(|spec| spec.code == name)
}

macro_rules! codes {
    ($($name:ident = $code:literal, $level:ident, $title:literal, $text:literal, $wrong:expr, $right:expr;)+) => {
        $(pub(crate) static $name: CodeSpec = CodeSpec {
            code: $code,
            level: Level::$level,
            title: $title,
            text: $text,
            wrong: &$wrong,
            right: &$right,
        };)+

        /// All codes, by group.
        pub static CODES: &[&CodeSpec] = &[$(&$name),+];
    };
}

/// A lock of a workspace without packs.
const EMPTY_LOCK: &str = "version = 1\nsemantics = 1\n";
/// Settings of a model that takes short requests.
const SMALL_MODEL: &str = "[models.small]\ncontext = 10\n";

codes! {
    SYNTAX_TEMPLATE = "syntax.template", Error,
        "The template cannot be compiled",
        "A tag, an expression or an action is not valid in the language of the template. No render of it succeeds.",
        [("demo/template.md", "Hello {{ name }\n")],
        [("demo/template.md", "Hello {{ name }}\n")];
    SYNTAX_DEFINITION = "syntax.definition", Error,
        "The definition cannot be used",
        "The front matter, `prompt.yaml`, `prompt.json`, `module.yaml` or a constant of `prompt.py` has a mistake. The \
         prompt cannot be rendered.",
        [("demo/prompt.yaml", "parameters:\n  name: {type: strin}\nprompt: Hello {{ name }}\n")],
        [("demo/prompt.yaml", "parameters:\n  name: {type: string}\nprompt: Hello {{ name }}\n")];
    SYNTAX_PYTHON = "syntax.python", Error,
        "The Python is not valid",
        "`prompt.py` or the file of a variable provider has a string or bracket without an end, a statement without its \
         colon, or a wrong indentation. Whether expressions are valid is only known to Python, which the check does not \
         start.",
        [("demo/prompt.py", "TEMPLATE = \"x\"\ndef pre_render(variables, context)\n    return None\n")],
        [("demo/prompt.py", "TEMPLATE = \"x\"\ndef pre_render(variables, context):\n    return None\n")];
    SYNTAX_SCHEMA = "syntax.schema", Error,
        "The schema of a parameter is not a JSON Schema",
        "The engine refuses to check values with it, so that no render of the prompt succeeds.",
        [("demo/template.md", "---\nparameters:\n  a: {type: string, schema: {type: strng}}\n---\n{{ a }}\n")],
        [("demo/template.md", "---\nparameters:\n  a: {type: string, schema: {type: string}}\n---\n{{ a }}\n")];
    SYNTAX_UNKNOWN_KEY = "syntax.unknown-key", Warning,
        "The definition has a mistake that it works without",
        "A key, a permission, a limit or an option of the definition is unknown or has no effect. It is probably \
         misspelt.",
        [("demo/template.md", "---\nparametres:\n  name: string\n---\nHello\n")],
        [("demo/template.md", "---\nparameters:\n  name: string\n---\nHello {{ name }}\n")];
    NAME_FILTER = "name.filter", Error,
        "Unknown filter",
        "The template uses a filter that does not exist. If it is not inside an `if`, the template is not even \
         compiled.",
        [("demo/template.md", "{{ name|uper }}\n")],
        [("demo/template.md", "{{ name|upper }}\n")];
    NAME_TEST = "name.test", Error,
        "Unknown test",
        "The template uses `is` with a test that does not exist.",
        [("demo/template.md", "{% if name is strng %}x{% endif %}\n")],
        [("demo/template.md", "{% if name is string %}x{% endif %}\n")];
    NAME_FUNCTION = "name.function", Error,
        "Unknown function",
        "The template calls a name that is neither a builtin function, a macro, a tool nor a variable.",
        [("demo/template.md", "---\nparameters:\n  n: integer\n---\n{% for i in rnage(n) %}x{% endfor %}\n")],
        [("demo/template.md", "---\nparameters:\n  n: integer\n---\n{% for i in range(n) %}x{% endfor %}\n")];
    NAME_METHOD = "name.method", Error,
        "Unknown method",
        "The type of the value has no method of this name.",
        [("demo/template.md", "---\nparameters:\n  name: string\n---\n{{ name.uper() }}\n")],
        [("demo/template.md", "---\nparameters:\n  name: string\n---\n{{ name.upper() }}\n")];
    NAME_TOOL = "name.tool", Error,
        "Unknown tool",
        "The workspace has tools of this module, but none with this name.",
        [("demo/template.md", "{{ tools.translator.zh_ne(code=\"x\") }}\n")],
        [("demo/template.md", "{{ tools.translator.zh_en(code=\"x\") }}\n")];
    NAME_ARGUMENTS = "name.arguments", Error,
        "Wrong arguments",
        "A filter, test, function, method, macro or builtin gets too many or too few arguments, or one whose name it \
         does not have.",
        [("demo/template.md", "{{ \"a\"|upper(1) }}\n")],
        [("demo/template.md", "{{ \"a\"|upper }}\n")];
    VARIABLE_RESERVED = "variable.reserved", Error,
        "The name of the parameter is reserved",
        "`system`, `environs`, `variables` and `args` are names of the engine. A prompt that declares one of them cannot \
         be rendered.",
        [("demo/template.md", "---\nparameters:\n  system: string\n---\n{{ system }}\n")],
        [("demo/template.md", "---\nparameters:\n  machine: string\n---\n{{ machine }}\n")];
    VARIABLE_UNDECLARED = "variable.undeclared", Warning,
        "Undeclared variable",
        "The prompt declares its parameters, and this variable is none of them. It is probably misspelt: it prints \
         nothing. Under `undefined: error` every render fails, so it is an error then. The check is silent if the \
         prompt and its parents declare nothing, or if `pre_render` adds variables that the check cannot see.",
        [("demo/template.md", "---\nparameters:\n  name: string\n---\nHello {{ nmae }} and {{ name }}\n")],
        [("demo/template.md", "---\nparameters:\n  name: string\n---\nHello {{ name }}\n")];
    VARIABLE_UNUSED = "variable.unused", Warning,
        "Unused parameter",
        "The prompt declares a parameter that none of its templates reads.",
        [("demo/template.md", "---\nparameters:\n  name: string\n  tone: string\n---\nHello {{ name }}\n")],
        [("demo/template.md", "---\nparameters:\n  name: string\n---\nHello {{ name }}\n")];
    VARIABLE_LOST = "variable.lost", Warning,
        "The value is lost after the loop",
        "In Jinja, a `set` inside a loop is forgotten at the end of each turn; the variable outside keeps its value. \
         Use a `namespace`.",
        [("demo/template.md", "{% set n = 0 %}{% for x in [1, 2] %}{% set n = n + x %}{% endfor %}{{ n }}\n")],
        [("demo/template.md",
          "{% set ns = namespace(n=0) %}{% for x in [1, 2] %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}\n")];
    VARIABLE_SHADOWED = "variable.shadowed", Warning,
        "A loop hides a parameter",
        "The variable of a loop has the name of a declared parameter, so the loop cannot see the parameter.",
        [("demo/template.md", "---\nparameters:\n  user: string\n  users: list\n---\n{{ user }}: {% for user in users %}{{ user }}{% endfor %}\n")],
        [("demo/template.md", "---\nparameters:\n  user: string\n  users: list\n---\n{{ user }}: {% for one in users %}{{ one }}{% endfor %}\n")];
    TYPE_OPERATION = "type.operation", Error,
        "The operation fails for every value",
        "An operator, filter, method, builtin or loop gets values of types that it does not work on.",
        [("demo/template.md", "---\nparameters:\n  age: integer\n---\n{{ \"Age: \" + age }}\n")],
        [("demo/template.md", "---\nparameters:\n  age: integer\n---\n{{ \"Age: \" ~ age }}\n")];
    TYPE_TOOL_ARGUMENT = "type.tool-argument", Warning,
        "The argument does not fit the tool",
        "The JSON Schema of the tool refuses the argument, has no such argument, or requires another one. The call fails. \
         It is an error if the failure of the tool fails the render.",
        [("demo/template.md", "{{ tools.translator.zh_en(code=5) }}\n")],
        [("demo/template.md", "{{ tools.translator.zh_en(code=\"5\") }}\n")];
    TYPE_PATH = "type.path", Warning,
        "The value has no such field",
        "The declared type or schema of the variable has no field of this name, so it is undefined. Under `undefined: \
         error` every render fails, so it is an error then.",
        [("demo/template.md", "---\nparameters:\n  user:\n    type: object\n    schema:\n      type: object\n      properties: {name: {type: string}}\n---\n{{ user.nmae }}\n")],
        [("demo/template.md", "---\nparameters:\n  user:\n    type: object\n    schema:\n      type: object\n      properties: {name: {type: string}}\n---\n{{ user.name }}\n")];
    TYPE_DEFAULT = "type.default", Warning,
        "The default does not fit its declaration",
        "The default of a parameter has another type than the parameter.",
        [("demo/template.md", "---\nparameters:\n  n: {type: string, default: 3, required: false}\n---\n{{ n }}\n")],
        [("demo/template.md", "---\nparameters:\n  n: {type: integer, default: 3, required: false}\n---\n{{ n }}\n")];
    TYPE_FORMAT = "type.format", Warning,
        "The format does not fit its values",
        "Go's `printf` prints a mark such as `%!d(string=x)` into the text where a verb does not fit its value, or \
         where values are missing or left over.",
        [("demo/prompt.yaml", "engine: go\nprompt: '{{printf \"%d items\" \"three\"}}'\n")],
        [("demo/prompt.yaml", "engine: go\nprompt: '{{printf \"%s items\" \"three\"}}'\n")];
    TYPE_PRINTED = "type.printed", Warning,
        "A list or an object is printed as it is",
        "The text shows the notation of Python or Go, such as `['a', 'b']` or `map[a:1]`. Join the items, loop over \
         them, or print JSON with `tojson`.",
        [("demo/template.md", "---\nparameters:\n  tools: list\n---\nTools: {{ tools }}\n")],
        [("demo/template.md", "---\nparameters:\n  tools: list\n---\nTools: {{ tools|join(\", \") }}\n")];
    TYPE_COMPARISON = "type.comparison", Warning,
        "The values are never equal",
        "The compared values have different types, or the value is none of those that the declaration lists.",
        [("demo/template.md", "---\nparameters:\n  level:\n    type: string\n    schema: {enum: [low, high]}\n---\n{{ level == \"hihg\" }}\n")],
        [("demo/template.md", "---\nparameters:\n  level:\n    type: string\n    schema: {enum: [low, high]}\n---\n{{ level == \"high\" }}\n")];
    TEMPLATE_MISSING = "template.missing", Error,
        "Template not found",
        "The template that is included, extended, imported or called does not exist in the catalog.",
        [("demo/template.md", "{% include \"partials/saftey.md\" %}\n"), ("partials/safety.md", "Be safe.\n")],
        [("demo/template.md", "{% include \"partials/safety.md\" %}\n"), ("partials/safety.md", "Be safe.\n")];
    TEMPLATE_ENGINE = "template.engine", Error,
        "A Jinja template extends or imports a Go template",
        "Go templates have no blocks that a child could fill, and no macros. Include the Go template, or write the other \
         one in Jinja.",
        [("demo/template.md", "{% extends \"partials/base.gotmpl\" %}\n"), ("partials/base.gotmpl", "{{ .a }}\n")],
        [("demo/template.md", "{% include \"partials/base.gotmpl\" %}\n"), ("partials/base.gotmpl", "{{ .a }}\n")];
    TEMPLATE_UNUSED = "template.unused", Hint,
        "No prompt uses the template",
        "No prompt of the workspace includes, extends or imports this partial, and none computes the name of a template.",
        [("demo/template.md", "x\n"), ("partials/old.md", "y\n")],
        [("demo/template.md", "{% include \"partials/old.md\" %}\n"), ("partials/old.md", "y\n")];
    TEMPLATE_CYCLE = "template.cycle", Error,
        "Templates use each other in a circle",
        "A template includes or extends itself, perhaps through others. If a condition on the way may end the circle, \
         it is a warning.",
        [("demo/template.md", "{% include \"partials/a.md\" %}\n"), ("partials/a.md", "{% include \"partials/a.md\" %}\n")],
        [("demo/template.md", "{% include \"partials/a.md\" %}\n"), ("partials/a.md", "A\n")];
    TEMPLATE_DYNAMIC = "template.dynamic", Hint,
        "The name of the template is computed",
        "Which template is used is only known during a render, so it is not checked from here.",
        [("demo/template.md", "{% include part ~ \".md\" %}\n")],
        [("demo/template.md", "{% include \"partials/a.md\" %}\n"), ("partials/a.md", "A\n")];
    BLOCK_ORPHAN = "block.orphan", Warning,
        "No parent has this block",
        "A template that extends another prints only what is in blocks of its parents. This block is in none of them, \
         so it is never printed.",
        [("demo/template.md", "{% extends \"partials/base.md\" %}{% block bdoy %}x{% endblock %}\n"), ("partials/base.md", "{% block body %}{% endblock %}\n")],
        [("demo/template.md", "{% extends \"partials/base.md\" %}{% block body %}x{% endblock %}\n"), ("partials/base.md", "{% block body %}{% endblock %}\n")];
    BLOCK_LOST_TEXT = "block.lost-text", Warning,
        "The text is outside of all blocks",
        "A template that extends another prints only what is in its blocks. This text is never printed.",
        [("demo/template.md", "{% extends \"partials/base.md\" %}\nHello\n"), ("partials/base.md", "{% block body %}{% endblock %}\n")],
        [("demo/template.md", "{% extends \"partials/base.md\" %}\n{% block body %}Hello{% endblock %}\n"), ("partials/base.md", "{% block body %}{% endblock %}\n")];
    BLOCK_REQUIRED = "block.required", Error,
        "A required block is not filled",
        "The parent marks the block as `required`, and no child defines it.",
        [("demo/template.md", "{% extends \"partials/base.md\" %}\n"), ("partials/base.md", "{% block body required %}{% endblock %}\n")],
        [("demo/template.md", "{% extends \"partials/base.md\" %}{% block body %}x{% endblock %}\n"), ("partials/base.md", "{% block body required %}{% endblock %}\n")];
    BLOCK_SUPER = "block.super", Error,
        "There is no parent block",
        "`super()` prints the block of the parent, but no parent has a block of this name.",
        [("demo/template.md", "{% block body %}{{ super() }}{% endblock %}\n")],
        [("demo/template.md", "{% extends \"partials/base.md\" %}{% block body %}{{ super() }}{% endblock %}\n"), ("partials/base.md", "{% block body %}x{% endblock %}\n")];
    BRANCH_NEVER = "branch.never", Warning,
        "The condition is never true",
        "The condition is false for every value that the declarations allow, so its text is never printed.",
        [("demo/template.md", "---\nparameters:\n  level:\n    type: string\n    schema: {enum: [low, high]}\n---\n{% if level in [\"medium\", \"none\"] %}x{% endif %}\n")],
        [("demo/template.md", "---\nparameters:\n  level:\n    type: string\n    schema: {enum: [low, high]}\n---\n{% if level in [\"high\", \"none\"] %}x{% endif %}\n")];
    MESSAGE_ROLE = "message.role", Error,
        "Unknown role",
        "A message has a role that model providers do not know.",
        [("demo/template.md", "{{ role(\"sytem\") }}\nBe brief.\n")],
        [("demo/template.md", "{{ role(\"system\") }}\nBe brief.\n")];
    MESSAGE_STRAY_TEXT = "message.stray-text", Warning,
        "Text before the first role",
        "The template starts messages with `role`, and this text is before the first of them. It becomes a message of \
         its own, of the user.",
        [("demo/template.md", "You are a poet.\n{{ role(\"user\") }}\nHello\n")],
        [("demo/template.md", "{{ role(\"system\") }}\nYou are a poet.\n{{ role(\"user\") }}\nHello\n")];
    MESSAGE_EMPTY = "message.empty", Warning,
        "The message is empty",
        "Nothing follows the role before the next one. Most providers refuse messages without text. The last message \
         may be empty, for the model to continue.",
        [("demo/template.md", "{{ role(\"system\") }}\n{{ role(\"user\") }}\nHello\n")],
        [("demo/template.md", "{{ role(\"system\") }}\nBe brief.\n{{ role(\"user\") }}\nHello\n")];
    MODEL_CAPABILITY = "model.capability", Warning,
        "The model cannot do what the prompt needs",
        "The prompt has a picture, sound, the answer of a tool or the schema of an answer, and its model takes none. What a \
         model can do comes from `capabilities` in the settings of the model, else from a table of well-known models. \
         Nothing is said about others.",
        [("demo/template.md", "---\nmodel: gpt-4\n---\n{{ media(url=\"https://example.com/a.png\", type=\"image/png\") }}\n")],
        [("demo/template.md", "---\nmodel: gpt-4o\n---\n{{ media(url=\"https://example.com/a.png\", type=\"image/png\") }}\n")];
    LIMIT_OUTPUT = "limit.output", Error,
        "The constant text is longer than allowed",
        "The text of the template alone exceeds `max_output_size` of the prompt, whatever the variables are.",
        [("demo/template.md", "---\nlimits: {max_output_size: 5}\n---\nMore than five\n")],
        [("demo/template.md", "---\nlimits: {max_output_size: 50}\n---\nMore than five\n")];
    LIMIT_RANGE = "limit.range", Error,
        "A limit of the engine is exceeded",
        "A range, a repetition or an indentation is larger than the engine allows, whatever the data is.",
        [("demo/template.md", "{% for i in range(10000000) %}x{% endfor %}\n")],
        [("demo/template.md", "{% for i in range(10) %}x{% endfor %}\n")];
    LIMIT_TOKENS = "limit.tokens", Warning,
        "The constant text is longer than the model allows",
        "The text of the template alone has more tokens than a request of its model may have, whatever the variables are. \
         The limit is `context` in the settings of the model, else that of a table of well-known models. An estimate counts \
         without its error.",
        [("../../../hinagata.toml", SMALL_MODEL),
         ("demo/template.md", "---\nmodel: small\n---\nBe brief. Say what is known, and nothing else. Do not repeat the question in the answer. Write in whole sentences, and name the source of each fact that you use.\n")],
        [("../../../hinagata.toml", SMALL_MODEL), ("demo/template.md", "---\nmodel: small\n---\nBe brief.\n")];
    CATALOG_CONFLICT = "catalog.conflict", Error,
        "The name is ambiguous",
        "Several prompts, packs or files have the same id, and no resolution chooses one of them.",
        [("demo/template.md", "a\n"), ("Demo/template.md", "b\n")],
        [("demo/template.md", "a\n"), ("other/template.md", "b\n")];
    CATALOG_ID = "catalog.id", Warning,
        "The directory cannot be a prompt",
        "The name of a directory with a prompt is not a valid id, so nothing can use the prompt.",
        [("a.b/template.md", "x\n")],
        [("a_b/template.md", "x\n")];
    HOOK_PERMISSION = "hook.permission", Error,
        "The hook uses what it has no permission for",
        "`context` has the entry only if the prompt declares the permission, or it has no such entry at all: the hook \
         fails with a `KeyError`. Test with `in` where the hook can do without.",
        [("demo/prompt.py", "TEMPLATE = \"{{ a }}\"\nasync def pre_render(variables, context):\n    return {\"a\": await context[\"read_file\"](\"a.txt\")}\n")],
        [("demo/prompt.py", "TEMPLATE = \"{{ a }}\"\nPERMISSIONS = {\"read_file\": True}\nasync def pre_render(variables, context):\n    return {\"a\": await context[\"read_file\"](\"a.txt\")}\n")];
    HOOK_IMPORT = "hook.import", Warning,
        "The hook imports what the sandbox denies",
        "Python of prompts runs without a network, and without other programs unless it has the permission \
         `subprocess`.",
        [("demo/prompt.py", "import urllib.request\nTEMPLATE = \"x\"\ndef pre_render(variables, context):\n    return None\n")],
        [("demo/prompt.py", "import json\nTEMPLATE = \"x\"\ndef pre_render(variables, context):\n    return None\n")];
    HOOK_UNUSED_PERMISSION = "hook.unused-permission", Hint,
        "The permission is not used",
        "The prompt declares a permission that its Python does not seem to use. Whoever approves the pack has to trust \
         it with more than it needs.",
        [("demo/prompt.py", "TEMPLATE = \"x\"\nPERMISSIONS = {\"llm_call\": True}\ndef pre_render(variables, context):\n    return None\n")],
        [("demo/prompt.py", "TEMPLATE = \"x\"\ndef pre_render(variables, context):\n    return None\n")];
    HOOK_COMPUTED = "hook.computed", Hint,
        "The constant is computed",
        "Only a run of the file tells the value of the constant. The check does not run it, so it does not know \
         the parameters, permissions or templates in it.",
        [("demo/prompt.py", "METADATA = dict(version=\"2.0.0\")\nTEMPLATE = \"x\"\n")],
        [("demo/prompt.py", "METADATA = {\"version\": \"2.0.0\"}\nTEMPLATE = \"x\"\n")];
    CATALOG_PROBLEM = "catalog.problem", Error,
        "A file of the workspace has a problem",
        "Settings, vocabulary, resolutions, defaults, packs, tools or documents of the store have a mistake, so \
         that the file is not used. If it is used nevertheless, the finding is a warning.",
        [("defaults.json", "{\n")],
        [("defaults.json", "{}\n")];
    CATALOG_STALE_RESOLUTION = "catalog.stale-resolution", Warning,
        "The resolution chooses what does not exist",
        "`resolution.json` chooses a prompt that was removed or renamed, so that the choice has no effect.",
        [("resolution.json", "{\"demo\": {\"source\": \"user_data/shared/prompts/Demo\"}}\n"), ("demo/template.md", "x\n")],
        [("resolution.json", "{\"demo\": {\"source\": \"user_data/shared/prompts/demo\"}}\n"), ("demo/template.md", "x\n")];
    CATALOG_ALIAS_LOOP = "catalog.alias-loop", Warning,
        "The aliases lead in a circle",
        "An alias of the vocabulary stands for another one, and so on, until the first comes again.",
        [("../vocab.json", "{\"tool.one\": [\"tool.two\"], \"tool.two\": [\"tool.one\"]}\n")],
        [("../vocab.json", "{\"tool.one\": [\"tool.two\"]}\n")];
    CATALOG_ALIAS_DEAD = "catalog.alias-dead", Warning,
        "The alias leads to no prompt",
        "No prompt has the name that the alias stands for. Whoever uses the alias gets an error.",
        [("../vocab.json", "{\"prompt.dmeo\": [\"prompt.example\"]}\n"), ("demo/template.md", "x\n")],
        [("../vocab.json", "{\"prompt.demo\": [\"prompt.example\"]}\n"), ("demo/template.md", "x\n")];
    CATALOG_ALIAS_HIDES = "catalog.alias-hides", Warning,
        "A prompt hides the alias",
        "There is a prompt with the name of the alias, so that the alias is never followed.",
        [("../vocab.json", "{\"prompt.demo\": [\"prompt.example\"]}\n"), ("demo/template.md", "x\n"), ("example/template.md", "y\n")],
        [("../vocab.json", "{\"prompt.demo\": [\"prompt.sample\"]}\n"), ("demo/template.md", "x\n"), ("example/template.md", "y\n")];
    PACK_MANIFEST = "pack.manifest", Error,
        "The manifest of the pack cannot be used",
        "`pack.json` is missing, is not valid, or declares a variable provider that cannot work: outside of the pack, \
         or with a namespace that is reserved, used twice or not a name. A mistake that the pack works without is a \
         warning.",
        [("../../packs/own/pack.json", "{\"version\": \"1.0.0\", \"variable_providers\": [{\"file\": \"git.py\", \"namespace\": \"system\"}]}\n"), ("../../packs/own/git.py", "def provide(context):\n    return {}\n")],
        [("../../packs/own/pack.json", "{\"version\": \"1.0.0\", \"variable_providers\": [{\"file\": \"git.py\", \"namespace\": \"git\"}]}\n"), ("../../packs/own/git.py", "def provide(context):\n    return {}\n")];
    PACK_LISTED = "pack.listed", Warning,
        "The manifest names what is not there",
        "`pack.json` lists a prompt, a replacement or a variable provider that the pack does not have.",
        [("../../packs/own/pack.json", "{\"version\": \"1.0.0\", \"prompts\": [\"hlelo\"]}\n"), ("../../packs/own/prompts/hello/template.md", "Hello\n")],
        [("../../packs/own/pack.json", "{\"version\": \"1.0.0\", \"prompts\": [\"hello\"]}\n"), ("../../packs/own/prompts/hello/template.md", "Hello\n")];
    PACK_VERSION = "pack.version", Warning,
        "The version of the pack is not a version",
        "A version has three numbers, such as 1.2.0. Others cannot be compared, so that no range fits them.",
        [("../../packs/own/pack.json", "{\"version\": \"one\"}\n")],
        [("../../packs/own/pack.json", "{\"version\": \"1.0.0\"}\n")];
    PACK_STATE = "pack.state", Hint,
        "The pack is not used",
        "The pack is not approved, was rejected, or has changed since it was approved. Its prompts are not checked.",
        [("../../packs/own/pack.json", "{\"version\": \"1.0.0\"}\n")],
        [("demo/template.md", "No pack, nothing to approve\n")];
    SECRET_LITERAL = "secret.literal", Warning,
        "A file has a secret",
        "A key, token or password is written in a file of the prompt. Whoever reads the file or the prompt knows it: \
         pass it as a parameter with `secret: true`, and replace the secret.",
        [("demo/template.md", "Call it with ghp_0Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx\n")],
        [("demo/template.md", "---\nparameters:\n  key: {type: string, secret: true}\n---\n{% if key %}You may call it.{% endif %}\n")];
    SECRET_PRINTED = "secret.printed", Warning,
        "A secret becomes part of the prompt",
        "The template prints a parameter that is declared `secret: true`. A model provider gets its value.",
        [("demo/template.md", "---\nparameters:\n  key: {type: string, secret: true}\n---\nUse {{ key }}\n")],
        [("demo/template.md", "---\nparameters:\n  key: {type: string, secret: true}\n---\n{% if key %}You are signed in.{% endif %}\n")];
    TEXT_HIDDEN = "text.hidden", Warning,
        "The text has invisible characters",
        "Tag characters, changes of the writing direction or zero-width characters can carry instructions that a reader \
         does not see. Emoji and scripts that need such characters are left alone.",
        [("demo/template.md", "Be brief.\u{e0068}\u{e0069}\n")],
        [("demo/template.md", "Be brief.\n")];
    INJECT_TEMPLATE = "inject.template", Warning,
        "Data chooses a template",
        "A parameter without a list of values names the template to include. Whoever passes it can include any \
         template of the catalog. Declare the possible values with `enum`.",
        [("demo/template.md", "---\nparameters:\n  part: string\n---\n{% include part %}\n")],
        [("demo/template.md", "---\nparameters:\n  part: {type: string, schema: {enum: [partials/a.md]}}\n---\n{% include part %}\n"), ("partials/a.md", "A\n")];
    INJECT_ROLE = "inject.role", Warning,
        "Data chooses a role",
        "A parameter without a list of values is the role of a message. Declare the possible values with `enum`.",
        [("demo/template.md", "---\nparameters:\n  who: string\n---\n{{ role(who) }}\nHello\n")],
        [("demo/template.md", "---\nparameters:\n  who: {type: string, schema: {enum: [user, assistant]}}\n---\n{{ role(who) }}\nHello\n")];
    INJECT_SYSTEM = "inject.system", Warning,
        "Data of others is in a system message",
        "A file, the answer of a tool or a parameter with `untrusted: true` is printed in a system message, which models \
         follow. Whoever writes the data writes instructions. Print it in a message of the user.",
        [("demo/template.md", "---\nparameters:\n  page: {type: string, untrusted: true}\n---\n{{ role(\"system\") }}\nSummarize {{ page }}\n")],
        [("demo/template.md", "---\nparameters:\n  page: {type: string, untrusted: true}\n---\n{{ role(\"system\") }}\nSummarize.\n{{ role(\"user\") }}\n{{ page }}\n")];
    TEST_FILE = "test.file", Warning,
        "The test file cannot be used",
        "A file in the directory `tests` of a prompt is not valid YAML, or the prompt that it names does not exist. Its \
         cases cannot run.",
        [("demo/template.md", "x\n"), ("demo/tests/a.yaml", "prompt: dmeo\ntests:\n  - name: one\n")],
        [("demo/template.md", "x\n"), ("demo/tests/a.yaml", "prompt: demo\ntests:\n  - name: one\n")];
    TEST_VARIABLE = "test.variable", Warning,
        "The prompt does not have the variable of the case",
        "A test case passes a variable that the prompt neither declares nor reads. It is misspelt, or the prompt has \
         changed.",
        [("demo/template.md", "---\nparameters:\n  name: string\n---\nHello {{ name }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    vars: {nmae: Rumi}\n")],
        [("demo/template.md", "---\nparameters:\n  name: string\n---\nHello {{ name }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    vars: {name: Rumi}\n")];
    TEST_MISSING = "test.missing", Warning,
        "The case does not pass a required variable",
        "A test case lacks a variable that every call must pass, and does not expect an error. It fails.",
        [("demo/template.md", "---\nparameters:\n  name: {type: string, required: true}\n---\nHello {{ name }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n")],
        [("demo/template.md", "---\nparameters:\n  name: {type: string, required: true}\n---\nHello {{ name }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    error: validation\n")];
    TEST_TYPE = "test.type", Warning,
        "The value of the case does not fit its declaration",
        "A test case passes a value of another type than declared, or one that the schema of the parameter refuses, and \
         does not expect an error.",
        [("demo/template.md", "---\nparameters:\n  n: {type: integer, required: true}\n---\n{{ n }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    vars: {n: three}\n")],
        [("demo/template.md", "---\nparameters:\n  n: {type: integer, required: true}\n---\n{{ n }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    vars: {n: 3}\n")];
    TEST_STUB = "test.stub", Warning,
        "Nothing calls the stub",
        "A test case answers for a tool or a variable provider that does not exist, and no template of the prompt names \
         it.",
        [("demo/template.md", "{{ tools.translator.zh_en(code=\"x\") }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    stubs: {tools: {translator.zh_ne: y}}\n")],
        [("demo/template.md", "{{ tools.translator.zh_en(code=\"x\") }}\n"),
         ("demo/tests/a.yaml", "tests:\n  - name: one\n    stubs: {tools: {translator.zh_en: y}}\n")];
    LOCK_DRIFT = "lock.drift", Warning,
        "The workspace differs from its lock",
        "Packs, choices between candidates, tools, tokenizers or locked prompts are not those of `hinagata.lock`, or the \
         lock cannot be read. With `--frozen`, commands fail. Synchronize the packs to get what is locked, or lock what is \
         here.",
        [("../../../hinagata.toml", "[packs]\nteam = { dir = \"team\" }\n"),
         ("../../../hinagata.lock", EMPTY_LOCK)],
        [("../../../hinagata.toml", ""),
         ("../../../hinagata.lock", EMPTY_LOCK)];
    ALLOW_UNKNOWN = "allow.unknown", Warning,
        "A silence names an unknown code",
        "A comment or setting silences a code that does not exist, so it silences nothing.",
        [("demo/template.md", "{# hina: allow(variable.unusd) #}\n")],
        [("demo/template.md", "---\nparameters:\n  a: string\n---\n{# hina: allow-file(variable.unused) kept for callers #}\n")];
    ALLOW_UNUSED = "allow.unused", Warning,
        "A silence without effect",
        "A comment silences a finding that does not occur at its place. Remove it, so that it cannot hide a later \
         mistake.",
        [("demo/template.md", "{# hina: allow(name.filter) #}\n{{ 1 }}\n")],
        [("demo/template.md", "{{ 1 }}\n")];
}
