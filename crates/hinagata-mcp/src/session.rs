//! One connection: the methods of the protocol.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use hinagata::LocalPlaces;
use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CompleteRequestParams,
        CompleteResult, CustomRequest, CustomResult, ErrorCode, Extensions, GetPromptRequestParams,
        GetPromptResponse, InitializeRequestParams, InitializeResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsRequestMethod, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
        Reference, Resource, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
        UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use tokio::{sync::broadcast::Receiver, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    backend::Viewer,
    complete,
    declared_resource::{DeclaredResource, ResourceSource},
    failure::{invalid_params, truncate_for_display},
    host::{ArgumentStyle, HostProfile, HostView, Revision},
    input::{self, CollectedInput, EarlierRounds, InputCall},
    line::read_arguments,
    malformed::params_error,
    messages,
    notices::{ChangeNotice, SubscribedUris, notify_peer, notify_subscription},
    pack_tool::PackedProject,
    page::{LIST_TTL_MS, cache_scope, take_page},
    placeholder::Placeholders,
    project::ClientRoots,
    prompt::PublicPrompt,
    resources::{embedded_entry, prompt_entry},
    served_skills::SkillMethod,
    shared::{Mcp, PromptCall, RequestSummary, Shared, resource_not_found_error},
    watched::WatchGuard,
};

/// Maximum URIs that one client can subscribe to.
const MAX_SUBSCRIBED: usize = 1_000;

/// Maximum pending subscriptions of one client.
const MAX_PENDING: usize = 16;

/// Methods that the newest revision removed.
const REMOVED_METHODS: [&str; 3] = ["initialize", "resources/subscribe", "resources/unsubscribe"];

/// One connection, or one request in a revision without sessions.
pub struct Session {
    shared: Arc<Shared>,
    /// The owner of the session. Another key cannot use it.
    owner: OnceLock<Viewer>,
    subscribed: SubscribedUris,
    roots: ClientRoots,
    /// Subscriptions that are about to start.
    waiting: Mutex<Vec<PendingSubscription>>,
    /// Notifies the client of changes.
    follower: Mutex<Option<JoinHandle<()>>>,
    /// The profile of the client, in revisions with sessions.
    profile: OnceLock<&'static HostProfile>,
    ending: Ending,
}

/// How a connection ends, step by step.
#[derive(Clone, Default)]
pub(crate) struct Ending {
    /// The client sends nothing any more: nothing waits for it.
    pub(crate) input: CancellationToken,
    /// Requests are cancelled.
    pub(crate) work: CancellationToken,
}

/// A subscription that was acknowledged.
struct PendingSubscription {
    /// Its resources.
    uris: Option<Vec<String>>,
    guards: Vec<WatchGuard>,
    notices: Receiver<Arc<ChangeNotice>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(follower) = self.follower.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            follower.abort();
        }
    }
}

impl Mcp {
    /// Opens a session for a new connection.
    #[must_use]
    pub fn open_session(&self) -> Session {
        Session {
            shared: Arc::clone(&self.0),
            owner: OnceLock::new(),
            subscribed: SubscribedUris::default(),
            roots: ClientRoots::default(),
            waiting: Mutex::default(),
            follower: Mutex::new(None),
            profile: OnceLock::new(),
            ending: Ending::default(),
        }
    }
}

impl Session {
    /// Identifies the caller: from the request if the host set it, else the caller of this process.
    fn identify_viewer(&self, extensions: &Extensions) -> Result<Viewer, ErrorData> {
        let let_in = extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Viewer>());
        let viewer = let_in.or(self.shared.options.viewer.as_ref());
        let viewer = viewer.ok_or_else(|| ErrorData::invalid_request("unknown caller", None))?;
        match self.owner.get() {
            Some(owner) if owner.name != viewer.name => {
                Err(ErrorData::invalid_request("this session belongs to another caller", None))
            }
            _ => Ok(viewer.clone()),
        }
    }

    pub(crate) fn ending(&self) -> Ending {
        self.ending.clone()
    }

    /// Waits until the client cancels the request or leaves.
    async fn request_cancelled(&self, context: &RequestContext<RoleServer>) {
        tokio::select! {
            () = context.ct.cancelled() => {}
            () = self.ending.work.cancelled() => {}
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The project whose files the viewer may pack.
    pub(crate) fn packed_project(&self, viewer: &Viewer) -> Option<&PackedProject> {
        self.shared.options.project.as_ref().filter(|_| viewer.can_pack && viewer.can_see_all())
    }

    /// The paths of this machine, which are hidden from clients.
    pub(crate) fn places(&self) -> &LocalPlaces {
        &self.shared.places
    }

    /// What the client of a request needs. The setting decides before the name of the client.
    fn host_view(&self, context: &RequestContext<RoleServer>) -> HostView {
        let profile = self.shared.host_profile.unwrap_or_else(|| {
            let known = || HostProfile::for_client(context.client_info().as_ref());
            // A session has one client; without sessions, each request may have another.
            if input::supports_input_required(context) { known() } else { self.profile.get_or_init(known) }
        });
        HostView { profile, ..self.tool_view(context) }
    }

    /// What the client of a tool call needs: arguments come from a model, and the result goes to it.
    pub(crate) fn tool_view(&self, context: &RequestContext<RoleServer>) -> HostView {
        HostView {
            profile: HostProfile::default_profile(),
            forms: input::supports_forms(context),
            revision: Revision::from_version(context.protocol_version().as_ref()),
        }
    }

    /// Renders a prompt. Asks for missing arguments if the client supports that.
    pub(crate) async fn get_prompt_now(
        &self,
        viewer: &Viewer,
        request: &GetPromptRequestParams,
        view: HostView,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let state = self.shared.state_for(viewer);
        let prompt = state.find_prompt(&request.name, viewer)?;
        let project_source = &self.shared.options.project_source;
        let mut responses = request.input_responses.clone();
        self.roots.take_response(project_source, &mut responses);
        if prompt.needs_project()
            && let Some(asks) = self.roots.ask_roots(project_source, context)
        {
            return Ok(asks.into());
        }
        let mut arguments = request.arguments.clone().unwrap_or_default();
        let placeholders = match view.profile.arguments {
            ArgumentStyle::Placeholders => Placeholders::take_from(&mut arguments),
            _ => Placeholders::default(),
        };
        let given = read_arguments(view.profile.arguments, &prompt, arguments)?;
        let following = given.following.clone();
        let call = InputCall {
            state: &state,
            prompt: &prompt,
            view,
            given,
            placeholders: &placeholders,
            input_ended: &self.ending.input,
        };
        let earlier =
            EarlierRounds { state: request.request_state.as_deref(), responses: responses.as_ref() };
        let variables = match call.collect_input(earlier, context).await? {
            CollectedInput::Asks(asks) => return Ok((*asks).into()),
            CollectedInput::Variables(variables) => variables,
        };
        let project = self.project_directory(&prompt, context).await;
        let call = PromptCall { variables, project };
        let rendered = if placeholders.is_empty() {
            self.shared.render_prompt(&state, &request.name, &prompt, call).await?
        } else {
            self.shared.render_placeholders(&state, &prompt, call, &placeholders).await?
        };
        let lookup = |uri: &str| self.shared.local_resource(viewer, uri);
        let context = messages::ResultContext {
            lookup: &lookup,
            places: &self.shared.places,
            view,
            following: following.as_deref(),
        };
        messages::prompt_result(&prompt, rendered, &context).map(Into::into)
    }

    /// The project directory of the caller, if the prompt may read it.
    async fn project_directory(
        &self,
        prompt: &PublicPrompt,
        context: &RequestContext<RoleServer>,
    ) -> Option<PathBuf> {
        match prompt.needs_project() {
            true => self.roots.find_directory(&self.shared.options.project_source, context).await,
            false => None,
        }
    }

    fn start_notifying(&self, context: &NotificationContext<RoleServer>) {
        let Ok(viewer) =
            self.identify_viewer(&context.extensions).or_else(|error| self.owner.get().cloned().ok_or(error))
        else {
            return;
        };
        let (shared, peer) = (Arc::clone(&self.shared), context.peer.clone());
        let (subscribed, tools) = (Arc::clone(&self.subscribed), self.shared.options.tools);
        let notices = self.shared.subscribe_changes();
        let telling = tokio::spawn(async move {
            // Changes are found by comparing lists, so the list must be loaded.
            shared.load_list().await;
            // The task must not keep the shared state alive.
            drop(shared);
            notify_peer(peer, viewer, subscribed, tools, notices).await;
        });
        let before = self.follower.lock().unwrap_or_else(PoisonError::into_inner).replace(telling);
        if let Some(before) = before {
            before.abort();
        }
    }

    /// All resources that are visible to the viewer, by URI.
    async fn visible_resources(&self, viewer: &Viewer) -> Vec<Resource> {
        let state = self.shared.state_with_list(viewer).await;
        let resources = self.shared.resources();
        let mut all: Vec<Resource> = Vec::new();
        for declared in resources.fixed_resources() {
            let seen = match &declared.content {
                ResourceSource::Prompt(name) => state.find_any_prompt(name, viewer).is_ok(),
                _ => viewer.can_see_all(),
            };
            all.extend(seen.then(|| declared.list_entry()));
        }
        for prompt in state.list().prompts.iter().filter(|prompt| viewer.can_see(&prompt.id)) {
            all.push(prompt_entry(prompt));
            all.extend(prompt.embedded_resources().into_iter().filter_map(embedded_entry));
        }
        // A declared resource takes precedence over an embedded one with the same URI.
        all.sort_by(|one, other| one.uri.cmp(&other.uri));
        all.dedup_by(|one, other| one.uri == other.uri);
        all
    }
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        let _ = self.owner.set(viewer);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.start_notifying(&context);
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.roots.forget_roots();
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        let state = self.shared.state_with_list(&viewer).await;
        let seen = state.list().prompts.iter().filter(|prompt| viewer.can_see(&prompt.id));
        let (prompts, next) = take_page(seen, |prompt| &prompt.name, request.as_ref())?;
        let view = self.host_view(&context);
        let mut result = ListPromptsResult::with_all_items(
            prompts.into_iter().map(|prompt| prompt.entry_for(view).clone()).collect(),
        );
        result.next_cursor = next;
        Ok(result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(cache_scope(&viewer)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        let work = self.get_prompt_now(&viewer, &request, self.host_view(&context), &context);
        let summary = RequestSummary { method: "prompts/get", name: &request.name, renders: true };
        self.shared.run_request(&viewer, summary, self.request_cancelled(&context), work).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        self.shared.check_rate(&viewer)?;
        let (argument, typed) = (request.argument.name, request.argument.value);
        let given = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let values = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let state = self.shared.state_for(&viewer);
                let prompt = state.find_prompt(&prompt.name, &viewer)?;
                let project = match viewer.can_render && viewer.can_see_all() {
                    true => self.project_directory(&prompt, &context).await,
                    false => None,
                };
                let typed = typed.clone();
                let work = move || {
                    let asked = complete::AskedArgument { name: &argument, typed: &typed, given: &given };
                    complete::proposed_values(&state.engine, &prompt, &asked, project.as_deref())
                };
                // Walking files blocks, so it runs on a blocking thread.
                let proposed = tokio::task::spawn_blocking(work).await;
                proposed.unwrap_or_else(|_| Err(ErrorData::internal_error("completion failed", None)))?
            }
            Reference::Resource(resource) => {
                let templates = self.shared.resources();
                let found = templates.resource_templates().find(|known| known.uri == resource.uri);
                let declared = found.filter(|_| viewer.can_see_all()).ok_or_else(|| {
                    invalid_params(format!(
                        "resource template `{}` not found",
                        truncate_for_display(&resource.uri)
                    ))
                })?;
                declared.complete.get(&argument).cloned().unwrap_or_default()
            }
            _ => return Err(invalid_params("only prompts and resource templates support completion")),
        };
        complete::rank_values(values, &typed)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        let all = self.visible_resources(&viewer).await;
        let (resources, next) = take_page(all.into_iter(), |resource| &resource.uri, request.as_ref())?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        Ok(result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(cache_scope(&viewer)))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        let resources = self.shared.resources();
        let declared = resources.resource_templates().filter(|_| viewer.can_see_all());
        let mut all: Vec<_> = declared.map(DeclaredResource::template_entry).collect();
        all.sort_by(|one, other| one.uri_template.cmp(&other.uri_template));
        let (templates, next) =
            take_page(all.into_iter(), |template| &template.uri_template, request.as_ref())?;
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        result.next_cursor = next;
        Ok(result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(cache_scope(&viewer)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        let renders = self.shared.renders_on_read(&request.uri);
        let project = match renders {
            true => self.roots.find_directory(&self.shared.options.project_source, &context).await,
            false => None,
        };
        let work = self.shared.read_resource(&viewer, &request.uri, project);
        let summary = RequestSummary { method: "resources/read", name: &request.uri, renders };
        let contents =
            self.shared.run_request(&viewer, summary, self.request_cancelled(&context), work).await?;
        let result = ReadResourceResult::new(contents).with_ttl_ms(0).with_cache_scope(cache_scope(&viewer));
        Ok(result.into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        let mut guards = Vec::new();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(MAX_SUBSCRIBED);
            // The acknowledgment lists what is watched.
            uris.retain(|uri| match self.shared.watch_resource(uri) {
                Ok(guard) => {
                    guards.push(guard);
                    true
                }
                Err(error) => {
                    tracing::warn!(uri = truncate_for_display(uri), %error, "a subscription is not accepted");
                    false
                }
            });
        }
        let uris = accepted.resource_subscriptions.clone();
        // The client is notified of its subscription before `listen` runs, and must not miss changes in between.
        let pending = PendingSubscription { uris, guards, notices: self.shared.subscribe_changes() };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.truncate(MAX_PENDING - 1);
        waiting.push(pending);
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let viewer = self.identify_viewer(&context.request_context().extensions)?;
        let uris = &context.accepted().resource_subscriptions;
        let early = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.iter().position(|pending| pending.uris == *uris).map(|place| waiting.remove(place))
        };
        let hidden = uris.iter().flatten().find(|uri| !self.shared.can_see_resource(&viewer, uri));
        if let Some(uri) = hidden {
            return Err(resource_not_found_error(uri));
        }
        let (notices, _guards) = match early {
            Some(early) => (early.notices, early.guards),
            None => (self.shared.subscribe_changes(), Vec::new()),
        };
        // Changes are found by comparing lists, so the list must be loaded.
        self.shared.load_list().await;
        tokio::select! {
            () = context.cancelled() => {}
            () = self.ending.input.cancelled() => {}
            () = notify_subscription(context.sink(), context.accepted(), &viewer, notices) => {}
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        self.shared.check_resource(&viewer, &request.uri).await?;
        if self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).len() >= MAX_SUBSCRIBED {
            return Err(invalid_params(format!("too many subscriptions; the limit is {MAX_SUBSCRIBED}")));
        }
        let (shared, uri) = (Arc::clone(&self.shared), request.uri.clone());
        let watching = tokio::task::spawn_blocking(move || shared.watch_resource(&uri)).await;
        let guard =
            watching.unwrap_or_else(|_| Err(ErrorData::internal_error("cannot watch the resource", None)))?;
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).insert(request.uri, guard);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.identify_viewer(&context.extensions)?;
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.uri);
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if !self.shared.options.tools {
            return Err(ErrorData::method_not_found::<ListToolsRequestMethod>());
        }
        let viewer = self.identify_viewer(&context.extensions)?;
        let state = self.shared.state_with_list(&viewer).await;
        let all = crate::tools::list_tools(state.list(), &viewer, self.packed_project(&viewer).is_some());
        let (tools, next) = take_page(all.into_iter(), |tool| &tool.name, request.as_ref())?;
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next;
        Ok(result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(cache_scope(&viewer)))
    }

    /// Handles requests with an unknown method or with invalid params.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let viewer = self.identify_viewer(&context.extensions)?;
        if let Some(method) = SkillMethod::from_name(&request.method).filter(|_| self.shared.options.skills) {
            let summary = RequestSummary { method: method.as_str(), name: "", renders: true };
            let work = self.shared.answer_skills(&viewer, method, request.params);
            return self.shared.run_request(&viewer, summary, self.request_cancelled(&context), work).await;
        }
        let is_gone =
            input::supports_input_required(&context) && REMOVED_METHODS.contains(&request.method.as_str());
        let is_served = !is_gone && (self.shared.options.tools || !request.method.starts_with("tools/"));
        let error = params_error(&request.method, request.params.as_ref()).filter(|_| is_served);
        Err(error.unwrap_or_else(|| {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, truncate_for_display(&request.method), None)
        }))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.shared.options.tools {
            return Err(ErrorData::method_not_found::<CallToolRequestMethod>());
        }
        let viewer = self.identify_viewer(&context.extensions)?;
        let name = request.name.to_string();
        let work = crate::tools::call_tool(self, &viewer, request, &context);
        let renders = name != crate::tools::LIST_TOOL;
        let summary = RequestSummary { method: "tools/call", name: &name, renders };
        self.shared.run_request(&viewer, summary, self.request_cancelled(&context), work).await
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("owner", &self.owner.get()).finish_non_exhaustive()
    }
}
