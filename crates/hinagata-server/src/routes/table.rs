//! The route table.
//!
//! The reasons are in `docs/design/route-table.md`.

use super::{Route, agents, chat, diagnostics, events, modules, packs, prompts, render, service, store};
use crate::{
    access::Scope::{self, Admin, Chat, Read, Render, Write},
    call::Handler,
    mcp,
    route::{
        ErrorFormat::{self, Legacy, Negotiated, Problem},
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
    get("/", None, "service", "Show the start page", |call| Box::pin(service::get_start_page(call)))
        .responses(&[text(200, "text/html", "an HTML page")]),
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
    get("/metrics", Some(Read), "service", "Get metrics in the Prometheus format", |call| {
        Box::pin(service::get_metrics(call))
    })
    .time_limit(Unlimited)
    .responses(&[text(200, "text/plain", "the metrics")]),
];
