//! The table of all routes.

use super::{Route, agents, chat, events, modules, packs, prompts, render, service, store};
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

/// A function for each method: a table is read by its first word.
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
    /// The same with failures told in another way.
    const fn errors(mut self, error_format: ErrorFormat) -> Self {
        self.spec.error_format = error_format;
        self
    }

    /// The same with another time.
    const fn time_limit(mut self, time_limit: TimeLimit) -> Self {
        self.spec.time_limit = time_limit;
        self
    }

    /// The same with names in the query.
    const fn query_params(mut self, query_params: &'static [(&'static str, &'static str)]) -> Self {
        self.spec.query_params = query_params;
        self
    }

    /// The same with a body of this schema, which is needed or not.
    const fn body(mut self, schema: &'static str, needed: bool) -> Self {
        self.spec.body = Some((schema, needed));
        self
    }

    /// The same with what it gives.
    const fn responses(mut self, responses: &'static [ResponseSpec]) -> Self {
        self.spec.responses = responses;
        self
    }
}

const fn json(status: u16, schema: &'static str, description: &'static str) -> ResponseSpec {
    ResponseSpec { status, media: JSON, schema, description }
}

const NOT_MODIFIED: ResponseSpec =
    ResponseSpec { status: 304, media: "", schema: "", description: "it is what `If-None-Match` names" };
const EVENT_STREAM: ResponseSpec = ResponseSpec {
    status: 200,
    media: "text/event-stream",
    schema: "Events",
    description: "its pieces as they come, for `stream: true`",
};
const NO_CONTENT: ResponseSpec = ResponseSpec { status: 204, media: "", schema: "", description: "done" };

const PAGE_PARAMS: &[(&str, &str)] = &[
    ("view", "`full` gives objects in the place of ids"),
    ("q", "only what has this text in its id"),
    ("limit", "most entries of a page"),
    ("cursor", "where a page starts, as `Link` of the page before tells"),
];
const PROMPT_LIST_PARAMS: &[(&str, &str)] = &[
    ("type", "only prompts of this type"),
    ("tag", "only prompts with this tag; several times: with all of them"),
    ("supports", "only what is made for this scene, such as chat"),
    ("language", "only what is made for this programming language"),
    ("view", "`full` gives objects in the place of ids"),
    ("q", "only what has this text in its id, title or description"),
    ("limit", "most entries of a page"),
    ("cursor", "where a page starts, as `Link` of the page before tells"),
];
const EXPLAIN_PARAMS: &[(&str, &str)] =
    &[("variables", "the variables, as a JSON object; every other name is a variable too")];

/// Every route.
pub(super) static ROUTES: &[Route] = &[
    get("/api/prompts", Some(Read), "prompts", "The ids of all prompts", |call| {
        Box::pin(prompts::list_prompts(call))
    })
    .errors(Negotiated)
    .query_params(PROMPT_LIST_PARAMS)
    .responses(&[json(200, "PromptList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/prompts/{id}", Some(Read), "prompts", "One prompt and where it comes from", |call| {
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
        json(200, "ChatCompletion", "the answer of the model, as a chat completion of OpenAI"),
        EVENT_STREAM,
    ]),
    post("/api/prompts/{id}/render", Some(Render), "second dialect", "Render a prompt", |call| {
        Box::pin(render::render_legacy(call))
    })
    .errors(Legacy)
    .body("Anything", true)
    .responses(&[json(200, "OldRenderResponse", "the rendered prompt")]),
    post(
        "/api/prompts/{id}/chat",
        Some(Chat),
        "second dialect",
        "Render a prompt and send it to a model",
        |call| Box::pin(chat::chat_legacy(call)),
    )
    .errors(Legacy)
    .time_limit(ByHandler)
    .body("Anything", true)
    .responses(&[
        json(200, "ChatCompletion", "the answer of the model, as a chat completion of OpenAI"),
        EVENT_STREAM,
    ]),
    get(
        "/api/prompts/{id}/definition",
        Some(Read),
        "prompts",
        "What a prompt declares, with what it inherits",
        |call| Box::pin(prompts::get_definition(call)),
    )
    .responses(&[json(200, "Definition", "the definition"), NOT_MODIFIED]),
    get(
        "/api/prompts/{id}/candidates",
        Some(Read),
        "prompts",
        "Every prompt that the name could mean",
        |call| Box::pin(prompts::list_candidates(call)),
    )
    .responses(&[json(200, "Candidates", "the candidates"), NOT_MODIFIED]),
    get(
        "/api/prompts/{id}/explain",
        Some(Render),
        "render",
        "Render a prompt and tell why it looks as it does",
        |call| Box::pin(prompts::explain_query(call)),
    )
    .query_params(EXPLAIN_PARAMS)
    .responses(&[json(200, "Explained", "the rendered prompt with its trace")]),
    post(
        "/api/prompts/{id}/explain",
        Some(Render),
        "render",
        "Render a prompt and tell why it looks as it does",
        |call| Box::pin(prompts::explain_prompt(call)),
    )
    .body("RenderRequest", false)
    .responses(&[json(200, "Explained", "the rendered prompt with its trace")]),
    post(
        "/api/prompts/{id}/validate",
        Some(Render),
        "render",
        "Whether variables are what a prompt declares",
        |call| Box::pin(prompts::validate_variables(call)),
    )
    .body("RenderRequest", false)
    .responses(&[json(200, "Validation", "what is missing or wrong")]),
    put(
        "/api/prompts/{id}/resolution",
        Some(Write),
        "prompts",
        "Settle which candidate answers for a name",
        |call| Box::pin(prompts::set_resolution(call)),
    )
    .body("Resolution", true)
    .responses(&[json(200, "Candidates", "the candidates, with the chosen one")]),
    delete(
        "/api/prompts/{id}/resolution",
        Some(Write),
        "prompts",
        "Take back which candidate answers for a name",
        |call| Box::pin(prompts::remove_resolution(call)),
    )
    .responses(&[NO_CONTENT]),
    get("/api/extensions", Some(Read), "store", "The ids of all extensions", |call| {
        Box::pin(store::list_extensions(call))
    })
    .errors(Negotiated)
    .query_params(PAGE_PARAMS)
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/extensions/{id}", Some(Read), "store", "One extension", |call| {
        Box::pin(store::get_extension(call))
    })
    .errors(Negotiated)
    .responses(&[json(200, "Document", "the extension, as it was written"), NOT_MODIFIED]),
    put("/api/extensions/{id}", Some(Write), "store", "Write an extension", |call| {
        Box::pin(store::put_extension(call))
    })
    .body("Document", true)
    .responses(&[NO_CONTENT]),
    delete("/api/extensions/{id}", Some(Write), "store", "Take an extension out", |call| {
        Box::pin(store::delete_extension(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/templates", Some(Read), "store", "The ids of all templates of the store", |call| {
        Box::pin(store::list_templates(call))
    })
    .query_params(PAGE_PARAMS)
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/templates/{id}", Some(Read), "store", "One template of the store", |call| {
        Box::pin(store::get_template(call))
    })
    .responses(&[json(200, "Document", "the template, as it was written"), NOT_MODIFIED]),
    put("/api/templates/{id}", Some(Write), "store", "Write a template", |call| {
        Box::pin(store::put_template(call))
    })
    .body("Document", true)
    .responses(&[NO_CONTENT]),
    delete("/api/templates/{id}", Some(Write), "store", "Take a template out", |call| {
        Box::pin(store::delete_template(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/environs", Some(Read), "store", "The ids of all shared variables", |call| {
        Box::pin(store::list_environs(call))
    })
    .errors(Negotiated)
    .query_params(PAGE_PARAMS)
    .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/environs/{id}", Some(Read), "store", "The value of a shared variable", |call| {
        Box::pin(store::get_environ(call))
    })
    .errors(Negotiated)
    .responses(&[json(200, "Anything", "the value"), NOT_MODIFIED]),
    put("/api/environs/{id}", Some(Write), "store", "Write a shared variable", |call| {
        Box::pin(store::put_environ(call))
    })
    .body("Anything", true)
    .responses(&[NO_CONTENT]),
    delete("/api/environs/{id}", Some(Write), "store", "Take a shared variable out", |call| {
        Box::pin(store::delete_environ(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/tools", Some(Read), "store", "The ids of all tools", |call| Box::pin(store::list_tools(call)))
        .errors(Negotiated)
        .query_params(&[
            ("supports", "only what is made for this scene, such as chat"),
            ("view", "`full` gives objects in the place of ids"),
            ("q", "only what has this text in its id"),
            ("limit", "most entries of a page"),
            ("cursor", "where a page starts, as `Link` of the page before tells"),
        ])
        .responses(&[json(200, "DocumentList", "ids, or objects for `view=full`"), NOT_MODIFIED]),
    get("/api/tools/{id}", Some(Read), "store", "The definition of a tool", |call| {
        Box::pin(store::get_tool(call))
    })
    .errors(Negotiated)
    .responses(&[json(200, "Document", "the tool, as it was written"), NOT_MODIFIED]),
    put("/api/tools/{id}", Some(Write), "store", "Write a tool", |call| Box::pin(store::put_tool(call)))
        .body("Document", true)
        .responses(&[NO_CONTENT]),
    delete("/api/tools/{id}", Some(Write), "store", "Take a tool out", |call| {
        Box::pin(store::delete_tool(call))
    })
    .responses(&[NO_CONTENT]),
    get("/api/packs", Some(Read), "packs", "All packs", |call| Box::pin(packs::list_packs(call)))
        .responses(&[json(200, "Packs", "the packs")]),
    post(
        "/api/packs",
        Some(Admin),
        "packs",
        "Install a pack: the body is its archive, a .tar.gz or .zip",
        |call| Box::pin(packs::install_pack(call)),
    )
    .query_params(&[("replace", "`true` puts it in the place of one of the same name")])
    .body("Archive", true)
    .responses(&[json(201, "Document", "the pack; nothing of it is used before it is approved")]),
    get("/api/packs/{pack}", Some(Read), "packs", "What a pack holds, and what it asks for", |call| {
        Box::pin(packs::show_pack(call))
    })
    .responses(&[json(200, "Document", "the pack")]),
    post("/api/packs/{pack}/approve", Some(Admin), "packs", "Approve a pack as it is now", |call| {
        Box::pin(packs::approve_pack(call))
    })
    .body("Approval", false)
    .responses(&[json(200, "Document", "the pack")]),
    post("/api/packs/{pack}/reject", Some(Admin), "packs", "Reject a pack", |call| {
        Box::pin(packs::reject_pack(call))
    })
    .responses(&[json(200, "Document", "the pack")]),
    post("/api/packs/{pack}/verify", Some(Read), "packs", "Compare a pack with what was approved", |call| {
        Box::pin(packs::verify_pack(call))
    })
    .responses(&[json(200, "Document", "what is different")]),
    delete("/api/packs/{pack}", Some(Admin), "packs", "Remove a pack", |call| {
        Box::pin(packs::remove_pack(call))
    })
    .responses(&[json(200, "Document", "what went with it")]),
    put(
        "/api/packs/{pack}/replaces/{id}",
        Some(Admin),
        "packs",
        "Decide whether a prompt or tool of a pack takes the place of another",
        |call| Box::pin(packs::decide_replacement(call)),
    )
    .body("Decision", true)
    .responses(&[json(200, "Document", "the proposal, decided")]),
    post("/api/modules/compile", Some(Render), "modules", "Merge and compile modules", |call| {
        Box::pin(modules::compile_modules(call))
    })
    .body("ModuleRequest", true)
    .responses(&[json(200, "Document", "the compiled prompt")]),
    post(
        "/api/modules/format",
        Some(Render),
        "modules",
        "Merge and compile modules, and make the request of a provider of them",
        |call| Box::pin(modules::format_modules(call)),
    )
    .body("ModuleRequest", true)
    .responses(&[json(200, "Formatted", "the text, the messages, or the body of the request")]),
    post(
        "/api/agents/{id}/invoke",
        Some(Chat),
        "agents",
        "The messages of a call to an agent: system prompt, history, user prompt with the packed context",
        |call| Box::pin(agents::invoke_agent(call)),
    )
    .body("InvokeRequest", true)
    .responses(&[json(200, "Invoked", "the messages")]),
    post("/api/context/pack", Some(Chat), "agents", "Pack files of the workspace into one text", |call| {
        Box::pin(agents::pack_context(call))
    })
    .body("PackRequest", false)
    .responses(&[json(200, "Document", "the text, and what became of each file")]),
    get(
        "/api/events",
        Some(Read),
        "service",
        "Changes of prompts and of the store, as they happen",
        |call| Box::pin(events::stream_events(call)),
    )
    .time_limit(Unlimited)
    .responses(&[ResponseSpec {
        status: 200,
        media: "text/event-stream",
        schema: "Events",
        description: "the changes",
    }]),
    post("/mcp", Some(Read), "mcp", "A message of the Model Context Protocol, of any revision", |call| {
        Box::pin(mcp::handle_mcp(call))
    })
    .body("Anything", true)
    .responses(&[
        json(200, "Anything", "the answer"),
        ResponseSpec {
            status: 200,
            media: "text/event-stream",
            schema: "Events",
            description: "the answer, and what comes before it",
        },
        ResponseSpec { status: 202, media: "", schema: "", description: "a notification was taken" },
    ]),
    get("/mcp", Some(Read), "mcp", "What a session of an older revision is told", |call| {
        Box::pin(mcp::handle_mcp(call))
    })
    .time_limit(Unlimited)
    .responses(&[ResponseSpec {
        status: 200,
        media: "text/event-stream",
        schema: "Events",
        description: "notices",
    }]),
    delete("/mcp", Some(Read), "mcp", "End a session of an older revision", |call| {
        Box::pin(mcp::handle_mcp(call))
    })
    .responses(&[NO_CONTENT]),
    get("/openapi.json", Some(Read), "service", "This description", |call| {
        Box::pin(service::get_openapi(call))
    })
    .responses(&[json(200, "Document", "an OpenAPI document"), NOT_MODIFIED]),
    get("/docs", Some(Read), "service", "This description, as a page", |call| {
        Box::pin(service::get_docs(call))
    })
    .responses(&[ResponseSpec {
        status: 200,
        media: "text/html",
        schema: "Page",
        description: "a page",
    }]),
    get("/", Some(Read), "service", "What to try", |call| Box::pin(service::get_start_page(call))).responses(
        &[ResponseSpec { status: 200, media: "text/html", schema: "Page", description: "a page" }],
    ),
    get("/healthz", None, "service", "Whether the daemon runs", |call| Box::pin(service::get_health(call)))
        .time_limit(Unlimited)
        .responses(&[json(200, "Health", "it runs")]),
    get("/readyz", None, "service", "Whether the daemon can answer, and whether its store answers", |call| {
        Box::pin(service::get_readiness(call))
    })
    .time_limit(Unlimited)
    .responses(&[json(200, "Health", "it can")]),
    get("/metrics", Some(Read), "service", "Counters, as Prometheus reads them", |call| {
        Box::pin(service::get_metrics(call))
    })
    .time_limit(Unlimited)
    .responses(&[ResponseSpec {
        status: 200,
        media: "text/plain",
        schema: "Page",
        description: "counters",
    }]),
];
