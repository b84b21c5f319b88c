//! The table of all routes.

use super::{Route, agents, chat, events, modules, packs, prompts, render, service, store};
use crate::{
    access::Scope::{self, Admin, Chat, Read, Render, Write},
    call::Handler,
    mcp,
    route::{
        Dialect::{self, Ours, Second, Shared},
        Gives, RouteSpec,
        Time::{self, Bounded, Own, Unbounded},
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
    let (dialect, time) = (Ours, Bounded);
    let spec =
        RouteSpec { method, path, scope, dialect, time, tag, summary, query: &[], body: None, gives: &[] };
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
    const fn told(mut self, dialect: Dialect) -> Self {
        self.spec.dialect = dialect;
        self
    }

    /// The same with another time.
    const fn takes(mut self, time: Time) -> Self {
        self.spec.time = time;
        self
    }

    /// The same with names in the query.
    const fn asks(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.spec.query = query;
        self
    }

    /// The same with a body of this schema, which is needed or not.
    const fn body(mut self, schema: &'static str, needed: bool) -> Self {
        self.spec.body = Some((schema, needed));
        self
    }

    /// The same with what it gives.
    const fn gives(mut self, gives: &'static [Gives]) -> Self {
        self.spec.gives = gives;
        self
    }
}

const fn gives(status: u16, schema: &'static str, meaning: &'static str) -> Gives {
    Gives { status, media: JSON, schema, meaning }
}

const NOT_CHANGED: Gives =
    Gives { status: 304, media: "", schema: "", meaning: "it is what `If-None-Match` names" };
const PIECES: Gives = Gives {
    status: 200,
    media: "text/event-stream",
    schema: "Events",
    meaning: "its pieces as they come, for `stream: true`",
};
const DONE: Gives = Gives { status: 204, media: "", schema: "", meaning: "done" };

const PAGED: &[(&str, &str)] = &[
    ("view", "`full` gives objects in the place of ids"),
    ("q", "only what has this text in its id"),
    ("limit", "most entries of a page"),
    ("cursor", "where a page starts, as `Link` of the page before tells"),
];
const LISTED: &[(&str, &str)] = &[
    ("type", "only prompts of this type"),
    ("tag", "only prompts with this tag; several times: with all of them"),
    ("supports", "only what is made for this scene, such as chat"),
    ("language", "only what is made for this programming language"),
    ("view", "`full` gives objects in the place of ids"),
    ("q", "only what has this text in its id, title or description"),
    ("limit", "most entries of a page"),
    ("cursor", "where a page starts, as `Link` of the page before tells"),
];
const EXPLAINED: &[(&str, &str)] =
    &[("variables", "the variables, as a JSON object; every other name is a variable too")];

/// Every route.
pub(super) static ROUTES: &[Route] = &[
    get("/api/prompts", Some(Read), "prompts", "The ids of all prompts", |call| {
        Box::pin(prompts::list(call))
    })
    .told(Shared)
    .asks(LISTED)
    .gives(&[gives(200, "PromptList", "ids, or objects for `view=full`"), NOT_CHANGED]),
    get("/api/prompts/{id}", Some(Read), "prompts", "One prompt and where it comes from", |call| {
        Box::pin(prompts::one(call))
    })
    .told(Shared)
    .gives(&[gives(200, "Prompt", "the prompt"), NOT_CHANGED]),
    post("/api/render/prompts/{id}", Some(Render), "render", "Render a prompt", |call| {
        Box::pin(render::ours(call))
    })
    .body("RenderRequest", false)
    .gives(&[gives(200, "RenderResponse", "the rendered prompt")]),
    post("/api/chat/prompts/{id}", Some(Chat), "chat", "Render a prompt and send it to a model", |call| {
        Box::pin(chat::ours(call))
    })
    .takes(Own)
    .body("ChatRequest", false)
    .gives(&[
        gives(200, "ChatCompletion", "the answer of the model, as a chat completion of OpenAI"),
        PIECES,
    ]),
    post("/api/prompts/{id}/render", Some(Render), "second dialect", "Render a prompt", |call| {
        Box::pin(render::second(call))
    })
    .told(Second)
    .body("Anything", true)
    .gives(&[gives(200, "OldRenderResponse", "the rendered prompt")]),
    post(
        "/api/prompts/{id}/chat",
        Some(Chat),
        "second dialect",
        "Render a prompt and send it to a model",
        |call| Box::pin(chat::second(call)),
    )
    .told(Second)
    .takes(Own)
    .body("Anything", true)
    .gives(&[
        gives(200, "ChatCompletion", "the answer of the model, as a chat completion of OpenAI"),
        PIECES,
    ]),
    get(
        "/api/prompts/{id}/definition",
        Some(Read),
        "prompts",
        "What a prompt declares, with what it inherits",
        |call| Box::pin(prompts::definition(call)),
    )
    .gives(&[gives(200, "Definition", "the definition"), NOT_CHANGED]),
    get(
        "/api/prompts/{id}/candidates",
        Some(Read),
        "prompts",
        "Every prompt that the name could mean",
        |call| Box::pin(prompts::candidates(call)),
    )
    .gives(&[gives(200, "Candidates", "the candidates"), NOT_CHANGED]),
    get(
        "/api/prompts/{id}/explain",
        Some(Render),
        "render",
        "Render a prompt and tell why it looks as it does",
        |call| Box::pin(prompts::explain_query(call)),
    )
    .asks(EXPLAINED)
    .gives(&[gives(200, "Explained", "the rendered prompt with its trace")]),
    post(
        "/api/prompts/{id}/explain",
        Some(Render),
        "render",
        "Render a prompt and tell why it looks as it does",
        |call| Box::pin(prompts::explain(call)),
    )
    .body("RenderRequest", false)
    .gives(&[gives(200, "Explained", "the rendered prompt with its trace")]),
    post(
        "/api/prompts/{id}/validate",
        Some(Render),
        "render",
        "Whether variables are what a prompt declares",
        |call| Box::pin(prompts::validate(call)),
    )
    .body("RenderRequest", false)
    .gives(&[gives(200, "Validation", "what is missing or wrong")]),
    put(
        "/api/prompts/{id}/resolution",
        Some(Write),
        "prompts",
        "Settle which candidate answers for a name",
        |call| Box::pin(prompts::resolve(call)),
    )
    .body("Resolution", true)
    .gives(&[gives(200, "Candidates", "the candidates, with the chosen one")]),
    delete(
        "/api/prompts/{id}/resolution",
        Some(Write),
        "prompts",
        "Take back which candidate answers for a name",
        |call| Box::pin(prompts::unresolve(call)),
    )
    .gives(&[DONE]),
    get("/api/extensions", Some(Read), "store", "The ids of all extensions", |call| {
        Box::pin(store::extensions(call))
    })
    .told(Shared)
    .asks(PAGED)
    .gives(&[gives(200, "DocumentList", "ids, or objects for `view=full`"), NOT_CHANGED]),
    get("/api/extensions/{id}", Some(Read), "store", "One extension", |call| {
        Box::pin(store::extension(call))
    })
    .told(Shared)
    .gives(&[gives(200, "Document", "the extension, as it was written"), NOT_CHANGED]),
    put("/api/extensions/{id}", Some(Write), "store", "Write an extension", |call| {
        Box::pin(store::put_extension(call))
    })
    .body("Document", true)
    .gives(&[DONE]),
    delete("/api/extensions/{id}", Some(Write), "store", "Take an extension out", |call| {
        Box::pin(store::delete_extension(call))
    })
    .gives(&[DONE]),
    get("/api/templates", Some(Read), "store", "The ids of all templates of the store", |call| {
        Box::pin(store::templates(call))
    })
    .asks(PAGED)
    .gives(&[gives(200, "DocumentList", "ids, or objects for `view=full`"), NOT_CHANGED]),
    get("/api/templates/{id}", Some(Read), "store", "One template of the store", |call| {
        Box::pin(store::template(call))
    })
    .gives(&[gives(200, "Document", "the template, as it was written"), NOT_CHANGED]),
    put("/api/templates/{id}", Some(Write), "store", "Write a template", |call| {
        Box::pin(store::put_template(call))
    })
    .body("Document", true)
    .gives(&[DONE]),
    delete("/api/templates/{id}", Some(Write), "store", "Take a template out", |call| {
        Box::pin(store::delete_template(call))
    })
    .gives(&[DONE]),
    get("/api/environs", Some(Read), "store", "The ids of all shared variables", |call| {
        Box::pin(store::environs(call))
    })
    .told(Shared)
    .asks(PAGED)
    .gives(&[gives(200, "DocumentList", "ids, or objects for `view=full`"), NOT_CHANGED]),
    get("/api/environs/{id}", Some(Read), "store", "The value of a shared variable", |call| {
        Box::pin(store::environ(call))
    })
    .told(Shared)
    .gives(&[gives(200, "Anything", "the value"), NOT_CHANGED]),
    put("/api/environs/{id}", Some(Write), "store", "Write a shared variable", |call| {
        Box::pin(store::put_environ(call))
    })
    .body("Anything", true)
    .gives(&[DONE]),
    delete("/api/environs/{id}", Some(Write), "store", "Take a shared variable out", |call| {
        Box::pin(store::delete_environ(call))
    })
    .gives(&[DONE]),
    get("/api/tools", Some(Read), "store", "The ids of all tools", |call| Box::pin(store::tools(call)))
        .told(Shared)
        .asks(&[
            ("supports", "only what is made for this scene, such as chat"),
            ("view", "`full` gives objects in the place of ids"),
            ("q", "only what has this text in its id"),
            ("limit", "most entries of a page"),
            ("cursor", "where a page starts, as `Link` of the page before tells"),
        ])
        .gives(&[gives(200, "DocumentList", "ids, or objects for `view=full`"), NOT_CHANGED]),
    get("/api/tools/{id}", Some(Read), "store", "The definition of a tool", |call| {
        Box::pin(store::tool(call))
    })
    .told(Shared)
    .gives(&[gives(200, "Document", "the tool, as it was written"), NOT_CHANGED]),
    put("/api/tools/{id}", Some(Write), "store", "Write a tool", |call| Box::pin(store::put_tool(call)))
        .body("Document", true)
        .gives(&[DONE]),
    delete("/api/tools/{id}", Some(Write), "store", "Take a tool out", |call| {
        Box::pin(store::delete_tool(call))
    })
    .gives(&[DONE]),
    get("/api/packs", Some(Read), "packs", "All packs", |call| Box::pin(packs::list(call))).gives(&[gives(
        200,
        "Packs",
        "the packs",
    )]),
    post(
        "/api/packs",
        Some(Admin),
        "packs",
        "Install a pack: the body is its archive, a .tar.gz or .zip",
        |call| Box::pin(packs::install(call)),
    )
    .asks(&[("replace", "`true` puts it in the place of one of the same name")])
    .body("Archive", true)
    .gives(&[gives(201, "Document", "the pack; nothing of it is used before it is approved")]),
    get("/api/packs/{pack}", Some(Read), "packs", "What a pack holds, and what it asks for", |call| {
        Box::pin(packs::show(call))
    })
    .gives(&[gives(200, "Document", "the pack")]),
    post("/api/packs/{pack}/approve", Some(Admin), "packs", "Approve a pack as it is now", |call| {
        Box::pin(packs::approve(call))
    })
    .body("Approval", false)
    .gives(&[gives(200, "Document", "the pack")]),
    post("/api/packs/{pack}/reject", Some(Admin), "packs", "Reject a pack", |call| {
        Box::pin(packs::reject(call))
    })
    .gives(&[gives(200, "Document", "the pack")]),
    post("/api/packs/{pack}/verify", Some(Read), "packs", "Compare a pack with what was approved", |call| {
        Box::pin(packs::verify(call))
    })
    .gives(&[gives(200, "Document", "what is different")]),
    delete("/api/packs/{pack}", Some(Admin), "packs", "Remove a pack", |call| Box::pin(packs::remove(call)))
        .gives(&[gives(200, "Document", "what went with it")]),
    put(
        "/api/packs/{pack}/replaces/{id}",
        Some(Admin),
        "packs",
        "Decide whether a prompt or tool of a pack takes the place of another",
        |call| Box::pin(packs::replace(call)),
    )
    .body("Decision", true)
    .gives(&[gives(200, "Document", "the proposal, decided")]),
    post("/api/modules/compile", Some(Render), "modules", "Merge and compile modules", |call| {
        Box::pin(modules::compile(call))
    })
    .body("ModuleRequest", true)
    .gives(&[gives(200, "Document", "the compiled prompt")]),
    post(
        "/api/modules/format",
        Some(Render),
        "modules",
        "Merge and compile modules, and make the request of a provider of them",
        |call| Box::pin(modules::format(call)),
    )
    .body("ModuleRequest", true)
    .gives(&[gives(200, "Formatted", "the text, the messages, or the body of the request")]),
    post(
        "/api/agents/{id}/invoke",
        Some(Chat),
        "agents",
        "The messages of a call to an agent: system prompt, history, user prompt with the packed context",
        |call| Box::pin(agents::invoke(call)),
    )
    .body("InvokeRequest", true)
    .gives(&[gives(200, "Invoked", "the messages")]),
    post("/api/context/pack", Some(Chat), "agents", "Pack files of the workspace into one text", |call| {
        Box::pin(agents::pack(call))
    })
    .body("PackRequest", false)
    .gives(&[gives(200, "Document", "the text, and what became of each file")]),
    get(
        "/api/events",
        Some(Read),
        "service",
        "Changes of prompts and of the store, as they happen",
        |call| Box::pin(events::listen(call)),
    )
    .takes(Unbounded)
    .gives(&[Gives {
        status: 200,
        media: "text/event-stream",
        schema: "Events",
        meaning: "the changes",
    }]),
    post("/mcp", Some(Read), "mcp", "A message of the Model Context Protocol, of any revision", |call| {
        Box::pin(mcp::answer(call))
    })
    .body("Anything", true)
    .gives(&[
        gives(200, "Anything", "the answer"),
        Gives {
            status: 200,
            media: "text/event-stream",
            schema: "Events",
            meaning: "the answer, and what comes before it",
        },
        Gives { status: 202, media: "", schema: "", meaning: "a notification was taken" },
    ]),
    get("/mcp", Some(Read), "mcp", "What a session of an older revision is told", |call| {
        Box::pin(mcp::answer(call))
    })
    .takes(Unbounded)
    .gives(&[Gives { status: 200, media: "text/event-stream", schema: "Events", meaning: "notices" }]),
    delete("/mcp", Some(Read), "mcp", "End a session of an older revision", |call| {
        Box::pin(mcp::answer(call))
    })
    .gives(&[DONE]),
    get("/openapi.json", Some(Read), "service", "This description", |call| Box::pin(service::openapi(call)))
        .gives(&[gives(200, "Document", "an OpenAPI document"), NOT_CHANGED]),
    get("/docs", Some(Read), "service", "This description, as a page", |call| {
        Box::pin(service::reference(call))
    })
    .gives(&[Gives { status: 200, media: "text/html", schema: "Page", meaning: "a page" }]),
    get("/", Some(Read), "service", "What to try", |call| Box::pin(service::start(call))).gives(&[Gives {
        status: 200,
        media: "text/html",
        schema: "Page",
        meaning: "a page",
    }]),
    get("/healthz", None, "service", "Whether the daemon runs", |call| Box::pin(service::health(call)))
        .takes(Unbounded)
        .gives(&[gives(200, "Health", "it runs")]),
    get("/readyz", None, "service", "Whether the daemon can answer, and whether its store answers", |call| {
        Box::pin(service::ready(call))
    })
    .takes(Unbounded)
    .gives(&[gives(200, "Health", "it can")]),
    get("/metrics", Some(Read), "service", "Counters, as Prometheus reads them", |call| {
        Box::pin(service::metrics(call))
    })
    .takes(Unbounded)
    .gives(&[Gives { status: 200, media: "text/plain", schema: "Page", meaning: "counters" }]),
];
