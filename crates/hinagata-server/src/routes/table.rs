//! The route table.
//!
//! The reasons are in `docs/design/route-table.md`.

#[cfg(feature = "page")]
use super::page;
use super::{
    Route, agents, cases, chat, check, diagnostics, draft, edit, events, exchange, files, modules, packs,
    prompts, render, service, source, store, tools, v1, whoami,
};
use crate::{
    access::Scope::{self, Admin, Chat, Read, Render, Write},
    call::Handler,
    mcp,
    route::{
        ErrorFormat::{self, Anthropic, ByClient, Legacy, Negotiated, OpenAi, Problem},
        ResponseSpec, RouteSpec,
        TimeLimit::{self, ByHandler, Configured, Unlimited},
    },
};

const JSON: &str = "application/json";

const fn route(
    method: &'static str,
    path: &'static str,
    scope: Option<Scope>,
    tag: &'static str,
    summary: &'static str,
    handler: Handler,
) -> Route {
    let (error_format, time_limit) = (Problem, Configured);
    let spec = RouteSpec {
        method,
        path,
        scope,
        error_format,
        time_limit,
        tag,
        summary,
        query_params: &[],
        body: None,
        responses: &[],
    };
    Route { spec, handler }
}

/// A function for each method, so that a row starts with its method.
macro_rules! methods {
    ($($name:ident $method:literal),*) => {$(
        const fn $name(
            path: &'static str,
            scope: Option<Scope>,
            tag: &'static str,
            summary: &'static str,
            handler: Handler,
        ) -> Route {
            route($method, path, scope, tag, summary, handler)
        }
    )*};
}

methods!(get "GET", post "POST", put "PUT", delete "DELETE");

impl Route {
    /// Sets the error format.
    const fn errors(mut self, error_format: ErrorFormat) -> Self {
        self.spec.error_format = error_format;
        self
    }

    /// Sets the time limit.
    const fn time_limit(mut self, time_limit: TimeLimit) -> Self {
        self.spec.time_limit = time_limit;
        self
    }

    /// Sets the query parameters.
    const fn query_params(mut self, query_params: &'static [(&'static str, &'static str)]) -> Self {
        self.spec.query_params = query_params;
        self
    }

    /// Sets the schema of the body, and whether it is required.
    const fn body(mut self, schema: &'static str, needed: bool) -> Self {
        self.spec.body = Some((schema, needed));
        self
    }

    /// Sets the successful responses.
    const fn responses(mut self, responses: &'static [ResponseSpec]) -> Self {
        self.spec.responses = responses;
        self
    }
}

const fn json(status: u16, schema: &'static str, description: &'static str) -> ResponseSpec {
    ResponseSpec { status, media: JSON, schema, description }
}

const fn text(status: u16, media: &'static str, description: &'static str) -> ResponseSpec {
    ResponseSpec { status, media, schema: "Page", description }
}

const NOT_MODIFIED: ResponseSpec = ResponseSpec {
    status: 304,
    media: "",
    schema: "",
    description: "not modified since the `If-None-Match` version",
};
const EVENT_STREAM: ResponseSpec = ResponseSpec {
    status: 200,
    media: "text/event-stream",
    schema: "Events",
    description: "the response as server-sent events, for `stream: true`",
};
const NO_CONTENT: ResponseSpec = ResponseSpec { status: 204, media: "", schema: "", description: "done" };

const WRITTEN: ResponseSpec =
    json(200, "Warnings", "done, but prompts of the document cannot be used as written");

const PAGE_PARAMS: &[(&str, &str)] = &[
    ("view", "`full` returns objects instead of ids"),
    ("q", "filter by text in the id"),
    ("limit", "entries per page"),
    ("cursor", "start of the page, from the `Link` header of the previous page"),
];
const PROMPT_LIST_PARAMS: &[(&str, &str)] = &[
    ("type", "filter by prompt type"),
    ("tag", "filter by tag; repeat to require several tags"),
    ("supports", "filter by supported use, such as `chat`"),
    ("language", "filter by programming language"),
    ("view", "`full` returns objects instead of ids"),
    ("q", "filter by text in the id, title or description"),
    ("limit", "entries per page"),
    ("cursor", "start of the page, from the `Link` header of the previous page"),
];
const MODEL_LIST_PARAMS: &[(&str, &str)] = &[
    ("limit", "entries per page"),
    ("after_id", "the model before the page"),
    ("before_id", "the model behind the page"),
];
const EXPLAIN_PARAMS: &[(&str, &str)] =
    &[("variables", "the variables as a JSON object; every other parameter is a variable")];

/// All routes.
pub(super) static ROUTES: &[Route] = &[
    get("/api/prompts", Some(Read), "prompts", "List the ids of all prompts", |call| {
        Box::pin(prompts::list_prompts(call))
    })
    .errors(Negotiated)
    .query_params(PROMPT_LIST_PARAMS)
    .responses(&[json(200, "PromptList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/prompts/{id}", Some(Read), "prompts", "Get a prompt and its origin", |call| {
        Box::pin(prompts::get_prompt(call))
    })
    .errors(Negotiated)
    .responses(&[json(200, "Prompt", "the prompt"), NOT_MODIFIED]),
    post("/api/render/prompts/{id}", Some(Render), "render", "Render a prompt", |call| {
        Box::pin(render::render_prompt(call))
    })
    .body("RenderRequest", false)
    .responses(&[json(200, "RenderResponse", "the rendered prompt")]),
    post("/api/chat/prompts/{id}", Some(Chat), "chat", "Render a prompt and send it to a model", |call| {
        Box::pin(chat::chat_with_prompt(call))
    })
    .time_limit(ByHandler)
    .body("ChatRequest", false)
    .responses(&[
        json(200, "ChatCompletion", "the model's response as an OpenAI chat completion"),
        EVENT_STREAM,
    ]),
    post("/api/prompts/{id}/render", Some(Render), "legacy", "Render a prompt", |call| {
        Box::pin(render::render_legacy(call))
    })
    .errors(Legacy)
    .body("OldRenderRequest", true)
    .responses(&[json(200, "OldRenderResponse", "the rendered prompt")]),
    post("/api/prompts/{id}/chat", Some(Chat), "legacy", "Render a prompt and send it to a model", |call| {
        Box::pin(chat::chat_legacy(call))
    })
    .errors(Legacy)
    .time_limit(ByHandler)
    .body("OldChatRequest", true)
    .responses(&[
        json(200, "ChatCompletion", "the model's response as an OpenAI chat completion"),
        EVENT_STREAM,
    ]),
    get(
        "/api/prompts/{id}/definition",
        Some(Read),
        "prompts",
        "Get what a prompt declares and inherits",
        |call| Box::pin(prompts::get_definition(call)),
    )
    .responses(&[json(200, "Definition", "the definition"), NOT_MODIFIED]),
    get("/api/prompts/{id}/candidates", Some(Read), "prompts", "List the candidates for a name", |call| {
        Box::pin(prompts::list_candidates(call))
    })
    .responses(&[json(200, "Candidates", "the candidates"), NOT_MODIFIED]),
    get(
        "/api/prompts/{id}/explain",
        Some(Render),
        "render",
        "Render a prompt and show where every part of it came from",
        |call| Box::pin(prompts::explain_query(call)),
    )
    .query_params(EXPLAIN_PARAMS)
    .responses(&[json(200, "Explained", "the rendered prompt with its trace")]),
    post(
        "/api/prompts/{id}/explain",
        Some(Render),
        "render",
        "Render a prompt and show where every part of it came from",
        |call| Box::pin(prompts::explain_prompt(call)),
    )
    .body("ExplainRequest", false)
    .responses(&[json(200, "Explained", "the rendered prompt with its trace")]),
    post(
        "/api/prompts/{id}/validate",
        Some(Render),
        "render",
        "Check variables against the prompt's parameters",
        |call| Box::pin(prompts::validate_variables(call)),
    )
    .body("RenderRequest", false)
    .responses(&[json(200, "Validation", "missing and invalid variables")]),
    post(
        "/api/prompts/{id}/complete",
        Some(Render),
        "prompts",
        "List the values that a prompt proposes for a parameter",
        |call| Box::pin(prompts::complete_value(call)),
    )
    .body("CompletionRequest", true)
    .responses(&[json(200, "Proposed", "the values that match, best first")]),
    put(
        "/api/prompts/{id}/resolution",
        Some(Write),
        "prompts",
        "Choose which candidate a name refers to",
        |call| Box::pin(prompts::set_resolution(call)),
    )
    .body("Resolution", true)
    .responses(&[json(200, "Candidates", "the candidates, with the chosen one marked")]),
    delete(
        "/api/prompts/{id}/resolution",
        Some(Write),
        "prompts",
        "Remove the choice of a candidate",
        |call| Box::pin(prompts::remove_resolution(call)),
    )
    .responses(&[NO_CONTENT]),
    get("/api/diagnostics", Some(Read), "prompts", "List what is wrong with prompts and documents", |call| {
        Box::pin(diagnostics::list_diagnostics(call))
    })
    .query_params(&[("severity", "`error` or `warning`; both without it")])
    .responses(&[json(200, "Findings", "the findings, sorted by source"), NOT_MODIFIED]),
    get("/v1/models", Some(Read), "models", "List prompts as models, for clients of OpenAI and Anthropic", |call| {
        Box::pin(v1::list_models(call))
    })
    .errors(ByClient)
    .query_params(MODEL_LIST_PARAMS)
    .responses(&[json(200, "ModelList", "the models; in Anthropic's form for its clients")]),
    post(
        "/v1/chat/completions",
        Some(Chat),
        "models",
        "Send a prompt to a model, as a client of OpenAI's chat completions",
        |call| Box::pin(v1::complete_chat(call)),
    )
    .errors(OpenAi)
    .time_limit(ByHandler)
    .body("V1ChatRequest", true)
    .responses(&[json(200, "ChatCompletion", "the answer as a chat completion"), EVENT_STREAM]),
    post(
        "/v1/responses",
        Some(Chat),
        "models",
        "Send a prompt to a model, as a client of OpenAI's responses",
        |call| Box::pin(v1::create_response(call)),
    )
    .errors(OpenAi)
    .time_limit(ByHandler)
    .body("V1ResponsesRequest", true)
    .responses(&[json(200, "V1Response", "the answer as a response"), EVENT_STREAM]),
    post("/v1/messages", Some(Chat), "models", "Send a prompt to a model, as a client of Anthropic", |call| {
        Box::pin(v1::create_message(call))
    })
    .errors(Anthropic)
    .time_limit(ByHandler)
    .body("V1MessagesRequest", true)
    .responses(&[json(200, "V1Message", "the answer as a message"), EVENT_STREAM]),
    post(
        "/v1/messages/count_tokens",
        Some(Chat),
        "models",
        "Count the tokens of a request, as a client of Anthropic",
        |call| Box::pin(v1::count_tokens(call)),
    )
    .errors(Anthropic)
    .body("V1MessagesRequest", true)
    .responses(&[json(200, "TokenCount", "the number of tokens, exact or estimated")]),
    get("/api/extensions", Some(Read), "store", "List the ids of all extensions", |call| {
        Box::pin(store::list_extensions(call))
    })
    .errors(Negotiated)
    .query_params(PAGE_PARAMS)
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/extensions/{id}", Some(Read), "store", "Get an extension", |call| {
        Box::pin(store::get_extension(call))
    })
    .errors(Negotiated)
    .responses(&[json(200, "Document", "the extension as stored"), NOT_MODIFIED]),
    put("/api/extensions/{id}", Some(Write), "store", "Create or replace an extension", |call| {
        Box::pin(store::put_extension(call))
    })
    .body("Extension", true)
    .responses(&[NO_CONTENT, WRITTEN]),
    delete("/api/extensions/{id}", Some(Write), "store", "Delete an extension", |call| {
        Box::pin(store::delete_extension(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/templates", Some(Read), "store", "List the ids of all templates in the store", |call| {
        Box::pin(store::list_templates(call))
    })
    .query_params(PAGE_PARAMS)
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/templates/{id}", Some(Read), "store", "Get a template from the store", |call| {
        Box::pin(store::get_template(call))
    })
    .responses(&[json(200, "Document", "the template as stored"), NOT_MODIFIED]),
    put("/api/templates/{id}", Some(Write), "store", "Create or replace a template", |call| {
        Box::pin(store::put_template(call))
    })
    .body("Template", true)
    .responses(&[NO_CONTENT, WRITTEN]),
    delete("/api/templates/{id}", Some(Write), "store", "Delete a template", |call| {
        Box::pin(store::delete_template(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/environs", Some(Read), "store", "List the ids of all environs", |call| {
        Box::pin(store::list_environs(call))
    })
    .errors(Negotiated)
    .query_params(PAGE_PARAMS)
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/environs/{id}", Some(Read), "store", "Get the value of an environ", |call| {
        Box::pin(store::get_environ(call))
    })
    .errors(Negotiated)
    .query_params(&[(
        "view",
        "`stored` (default) returns the document; `merged` returns what templates see, with the environs inside it",
    )])
    .responses(&[json(200, "Environ", "the value"), NOT_MODIFIED]),
    put("/api/environs/{id}", Some(Write), "store", "Create or replace an environ", |call| {
        Box::pin(store::put_environ(call))
    })
    .body("Environ", true)
    .responses(&[NO_CONTENT, WRITTEN]),
    delete("/api/environs/{id}", Some(Write), "store", "Delete an environ", |call| {
        Box::pin(store::delete_environ(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/tools", Some(Read), "store", "List the ids of all tools", |call| {
        Box::pin(store::list_tools(call))
    })
    .errors(Negotiated)
    .query_params(&[
        ("supports", "filter by supported use, such as `chat`"),
        ("view", "`full` returns objects instead of ids"),
        ("q", "filter by text in the id"),
        ("limit", "entries per page"),
        ("cursor", "start of the page, from the `Link` header of the previous page"),
    ])
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/tools/{id}", Some(Read), "store", "Get the definition of a tool", |call| {
        Box::pin(store::get_tool(call))
    })
    .errors(Negotiated)
    .responses(&[json(200, "Document", "the tool as stored"), NOT_MODIFIED]),
    put("/api/tools/{id}", Some(Write), "store", "Create or replace a tool", |call| {
        Box::pin(store::put_tool(call))
    })
    .body("Tool", true)
    .responses(&[NO_CONTENT, WRITTEN]),
    delete("/api/tools/{id}", Some(Write), "store", "Delete a tool", |call| {
        Box::pin(store::delete_tool(call))
    })
    .responses(&[NO_CONTENT]),
    post("/api/tools/{id}/call", Some(Chat), "store", "Call a tool, to try it", |call| {
        Box::pin(tools::call_tool(call))
    })
    .body("ToolCall", false)
    .responses(&[json(200, "ToolResult", "the result of the tool")]),
    get("/api/models", Some(Read), "service", "List the configured models and their providers", |call| {
        Box::pin(chat::list_models(call))
    })
    .responses(&[json(200, "Models", "the models; no key is shown"), NOT_MODIFIED]),
    get("/api/packs", Some(Read), "packs", "List all packs", |call| Box::pin(packs::list_packs(call)))
        .responses(&[json(200, "Packs", "the packs")]),
    post(
        "/api/packs",
        Some(Admin),
        "packs",
        "Install a pack from its archive, a .tar.gz or .zip file",
        |call| Box::pin(packs::install_pack(call)),
    )
    .query_params(&[("replace", "`true` replaces an installed pack with the same name")])
    .body("Archive", true)
    .responses(&[json(201, "Document", "the pack; it is not used before it is approved")]),
    get(
        "/api/packs/{pack}",
        Some(Read),
        "packs",
        "Show the contents and the permissions of a pack",
        |call| Box::pin(packs::show_pack(call)),
    )
    .responses(&[json(200, "Document", "the pack")]),
    get(
        "/api/packs/{pack}/review",
        Some(Admin),
        "packs",
        "Show everything about a pack that a person looks at before approving it",
        |call| Box::pin(packs::review_pack(call)),
    )
    .query_params(&[("code", "`true` adds the text of all files")])
    .responses(&[json(
        200,
        "Document",
        "the pack, what its Python may do, hidden characters and secrets, findings of a check, and the differences from \
         what was approved before",
    )]),
    post(
        "/api/packs/{pack}/approve",
        Some(Admin),
        "packs",
        "Approve the current content of a pack",
        |call| Box::pin(packs::approve_pack(call)),
    )
    .body("Approval", false)
    .responses(&[json(200, "Document", "the pack")]),
    post("/api/packs/{pack}/reject", Some(Admin), "packs", "Reject a pack", |call| {
        Box::pin(packs::reject_pack(call))
    })
    .responses(&[json(200, "Document", "the pack")]),
    post("/api/packs/{pack}/verify", Some(Read), "packs", "Compare a pack with its approval", |call| {
        Box::pin(packs::verify_pack(call))
    })
    .responses(&[json(200, "Document", "the differences")]),
    delete("/api/packs/{pack}", Some(Admin), "packs", "Remove a pack", |call| {
        Box::pin(packs::remove_pack(call))
    })
    .responses(&[json(200, "Document", "what was removed")]),
    put(
        "/api/packs/{pack}/replaces/{id}",
        Some(Admin),
        "packs",
        "Accept or decline a prompt or tool that a pack proposes as a replacement",
        |call| Box::pin(packs::decide_replacement(call)),
    )
    .body("Decision", true)
    .responses(&[json(200, "Document", "the decided proposal")]),
    post("/api/modules/compile", Some(Render), "modules", "Merge and compile modules", |call| {
        Box::pin(modules::compile_modules(call))
    })
    .body("CompileRequest", true)
    .responses(&[json(200, "Document", "the compiled prompt")]),
    post(
        "/api/modules/format",
        Some(Render),
        "modules",
        "Merge and compile modules into text, messages or a provider request",
        |call| Box::pin(modules::format_modules(call)),
    )
    .body("FormatRequest", true)
    .responses(&[json(200, "Formatted", "the text, the messages, or the request body")]),
    get("/api/agents", Some(Read), "agents", "List the ids of all agents", |call| {
        Box::pin(agents::list_agents(call))
    })
    .responses(&[json(200, "Agents", "the agents of files and settings"), NOT_MODIFIED]),
    post(
        "/api/agents/{id}/invoke",
        Some(Chat),
        "agents",
        "Build the messages of an agent call: system prompt, history, user prompt with the packed context",
        |call| Box::pin(agents::invoke_agent(call)),
    )
    .body("InvokeRequest", true)
    .responses(&[json(200, "Invoked", "the messages")]),
    post(
        "/api/agents/{id}/chat",
        Some(Chat),
        "agents",
        "Send the messages of an agent call to a model, and run the tools that it calls and the settings allow",
        |call| Box::pin(agents::chat_with_agent(call)),
    )
    .time_limit(ByHandler)
    .body("AgentChatRequest", true)
    .responses(&[json(200, "AgentChat", "the model's last response as an OpenAI chat completion")]),
    post("/api/context", Some(Admin), "agents", "Pack files of the workspace into one text", |call| {
        Box::pin(agents::pack_context(call))
    })
    .body("PackRequest", false)
    .responses(&[json(200, "PackedContext", "the text, and a report for each file")]),
    post("/api/context/pack", Some(Admin), "agents", "The same, by its earlier path", |call| {
        Box::pin(agents::pack_context(call))
    })
    .body("PackRequest", false)
    .responses(&[json(200, "PackedContext", "the text, and a report for each file")]),
    get("/api/events", Some(Read), "service", "Stream changes of prompts and of the store", |call| {
        Box::pin(events::stream_events(call))
    })
    .time_limit(Unlimited)
    .responses(&[ResponseSpec {
        status: 200,
        media: "text/event-stream",
        schema: "Events",
        description: "the changes",
    }]),
    post("/mcp", Some(Read), "mcp", "Send a Model Context Protocol message of any revision", |call| {
        Box::pin(mcp::handle_mcp(call))
    })
    .body("McpMessage", true)
    .responses(&[
        json(200, "Anything", "the response"),
        ResponseSpec {
            status: 200,
            media: "text/event-stream",
            schema: "Events",
            description: "the response and the notifications before it",
        },
        ResponseSpec { status: 202, media: "", schema: "", description: "notification accepted" },
    ]),
    get("/mcp", Some(Read), "mcp", "Stream the notifications of a session (older revisions)", |call| {
        Box::pin(mcp::handle_mcp(call))
    })
    .time_limit(Unlimited)
    .responses(&[ResponseSpec {
        status: 200,
        media: "text/event-stream",
        schema: "Events",
        description: "notifications",
    }]),
    delete("/mcp", Some(Read), "mcp", "End a session (older revisions)", |call| {
        Box::pin(mcp::handle_mcp(call))
    })
    .responses(&[NO_CONTENT]),
    get("/openapi.json", None, "service", "Get the OpenAPI document", |call| {
        Box::pin(service::get_openapi(call))
    })
    .responses(&[json(200, "Document", "the OpenAPI document"), NOT_MODIFIED]),
    get("/docs", None, "service", "Show every route as a web page, with forms to try them", |call| {
        Box::pin(service::get_docs(call))
    })
    .responses(&[text(200, "text/html", "an HTML page")]),
    get("/docs.js", None, "service", "Get the script of the web pages", |call| {
        Box::pin(service::get_script(call))
    })
    .responses(&[text(200, "text/javascript", "the script")]),
    get("/docs.css", None, "service", "Get the style of the web pages", |call| {
        Box::pin(service::get_style(call))
    })
    .responses(&[text(200, "text/css", "the style sheet")]),
    #[cfg(not(feature = "page"))]
    get("/", None, "service", "Show the start page", |call| Box::pin(service::get_start_page(call)))
        .responses(&[text(200, "text/html", "an HTML page")]),
    #[cfg(feature = "page")]
    get("/", None, "service", "Show the web page", |call| Box::pin(page::get_page(call)))
        .responses(&[text(200, "text/html", "an HTML page")]),
    #[cfg(feature = "page")]
    get("/page/{hash}/{file}", None, "service", "Get a file of the web page", |call| {
        Box::pin(page::get_page_file(call))
    })
    .responses(&[text(200, "text/javascript", "the file")]),
    get("/healthz", None, "service", "Check that the daemon runs", |call| {
        Box::pin(service::get_health(call))
    })
    .time_limit(Unlimited)
    .responses(&[json(200, "Health", "the daemon runs")]),
    get("/readyz", None, "service", "Check that the daemon and its store are ready", |call| {
        Box::pin(service::get_readiness(call))
    })
    .time_limit(Unlimited)
    .responses(&[json(200, "Health", "the daemon is ready")]),
    get("/api/whoami", None, "service", "Show who calls and what they may do", |call| {
        Box::pin(whoami::show_caller(call))
    })
    .responses(&[json(200, "Caller", "the caller, and what it may do")]),
    get("/api/files", Some(Read), "files", "List the files of prompts, partials, agents and packs", |call| {
        Box::pin(files::list_files(call))
    })
    .query_params(&[("under", "a file or a directory; all files without it")])
    .responses(&[json(200, "Files", "the files, sorted by path"), NOT_MODIFIED]),
    get("/api/files/{path}", Some(Read), "files", "Get the text of a file", |call| {
        Box::pin(files::get_file(call))
    })
    .query_params(&[("approved", "`true` returns the approved copy of a file of a pack")])
    .responses(&[text(200, "text/plain", "the file, byte for byte"), NOT_MODIFIED]),
    put("/api/files/{path}", Some(Write), "files", "Create or replace one of your own files", |call| {
        Box::pin(files::put_file(call))
    })
    .body("FileText", true)
    .responses(&[
        json(200, "WrittenFile", "replaced, with what is wrong with the text"),
        json(201, "WrittenFile", "created, with what is wrong with the text"),
    ]),
    delete("/api/files/{path}", Some(Write), "files", "Move one of your own files to the trash", |call| {
        Box::pin(files::delete_file(call))
    })
    .responses(&[json(200, "DeletedFile", "the entry of the trash")]),
    post("/api/prompts", Some(Write), "prompts", "Create a prompt from a skeleton", |call| {
        Box::pin(edit::create_prompt(call))
    })
    .body("NewPrompt", true)
    .responses(&[json(201, "CreatedPrompt", "the prompt and its files")]),
    post("/api/import", Some(Write), "prompts", "Import prompts of other formats, or show what an import would do", |call| {
        Box::pin(exchange::import_prompts(call))
    })
    .body("ImportRequest", true)
    .responses(&[
        json(200, "ImportResult", "what an import would do, or nothing was written"),
        json(201, "ImportResult", "what was imported"),
    ]),
    get(
        "/api/prompts/{id}/export",
        Some(Read),
        "prompts",
        "Show a prompt in the format of another program, and what it loses",
        |call| Box::pin(exchange::export_prompt(call)),
    )
    .query_params(&[("to", "the format, such as `dotprompt`")])
    .responses(&[json(200, "ExportResult", "the files and the losses"), NOT_MODIFIED]),
    post(
        "/api/prompts/{id}/copy",
        Some(Write),
        "prompts",
        "Copy a prompt to your own ones; a copy with the same id is chosen",
        |call| Box::pin(edit::copy_prompt(call)),
    )
    .body("CopyRequest", false)
    .responses(&[json(201, "CreatedPrompt", "the copy and its files")]),
    post(
        "/api/prompts/{id}/rename",
        Some(Write),
        "prompts",
        "Rename one of your own prompts, and list what names it",
        |call| Box::pin(edit::rename_prompt(call)),
    )
    .body("RenameRequest", true)
    .responses(&[json(200, "RenamedPrompt", "the new place, and what names the prompt")]),
    get("/api/prompts/{id}/tests", Some(Read), "tests", "List the test cases of a prompt", |call| {
        Box::pin(cases::list_cases(call))
    })
    .responses(&[json(200, "TestCases", "the test files with their cases, and mistakes in them"), NOT_MODIFIED]),
    post("/api/prompts/{id}/tests", Some(Write), "tests", "Save a call of a prompt as a test case", |call| {
        Box::pin(cases::save_case(call))
    })
    .body("NewTestCase", true)
    .responses(&[
        json(200, "SavedTestCase", "the case was added to a file"),
        json(201, "SavedTestCase", "the case was written to a new file"),
    ]),
    post(
        "/api/prompts/{id}/tests/run",
        Some(Render),
        "tests",
        "Run test cases of a prompt; models answer from recordings only",
        |call| Box::pin(cases::run_cases(call)),
    )
    .body("TestRun", false)
    .responses(&[json(200, "TestReport", "what became of each case, with differences")]),
    delete("/api/prompts/{id}", Some(Write), "prompts", "Move one of your own prompts to the trash", |call| {
        Box::pin(edit::delete_prompt(call))
    })
    .query_params(&[("source", "which of several candidates")])
    .responses(&[json(200, "DeletedPrompt", "the entry of the trash")]),
    get("/api/trash", Some(Write), "files", "List what was deleted in the last 30 days", |call| {
        Box::pin(edit::list_trash(call))
    })
    .responses(&[json(200, "TrashList", "the entries, the newest first")]),
    post("/api/trash/{entry}/restore", Some(Write), "files", "Restore what was deleted", |call| {
        Box::pin(edit::restore_entry(call))
    })
    .responses(&[json(200, "RestoredEntry", "where it is again")]),
    post(
        "/api/prompts/{id}/resolution/undo",
        Some(Write),
        "prompts",
        "Take back the last choice of a candidate",
        |call| Box::pin(prompts::undo_resolution(call)),
    )
    .responses(&[json(200, "Candidates", "the candidates, with the chosen one marked")]),
    post(
        "/api/draft",
        Some(Write),
        "render",
        "Explain a prompt with unsaved texts in the place of files, or send it to a model",
        |call| Box::pin(draft::explain_draft(call)),
    )
    .time_limit(ByHandler)
    .body("DraftRequest", true)
    .responses(&[
        json(200, "DraftAnswer", "the rendered prompt with its trace; with `chat`, a chat completion"),
        EVENT_STREAM,
    ]),
    post(
        "/api/check",
        Some(Render),
        "render",
        "Check unsaved texts, and the prompts that use them",
        |call| Box::pin(check::check_unsaved(call)),
    )
    .body("CheckRequest", true)
    .responses(&[json(200, "CheckAnswer", "the findings, sorted by file and place")]),
    post(
        "/api/source",
        Some(Render),
        "render",
        "Get the colours, findings and completions of a source",
        |call| Box::pin(source::view_source(call)),
    )
    .body("SourceRequest", true)
    .responses(&[json(200, "SourceView", "the source as an editor needs it")]),
    get("/metrics", Some(Read), "service", "Get metrics in the Prometheus format", |call| {
        Box::pin(service::get_metrics(call))
    })
    .time_limit(Unlimited)
    .responses(&[text(200, "text/plain", "the metrics")]),
];
