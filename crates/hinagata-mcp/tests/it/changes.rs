//! A prompt file that is added, changed, broken and removed: which clients are notified, and what is served meanwhile.

use rmcp::{model::SubscriptionFilter, service::Subscription};
use serde_json::json;

use crate::support::{Client, Era, LONG, Served};

const GOOD: &str = "description: First\nmessages: [{role: user, content: one}]\n";
const CHANGED: &str = "description: Second\nmessages: [{role: user, content: two}]\n";
const BROKEN: &str = "description: [\nmessages: {{{\n";
const FIXED: &str = "description: Third\nmessages: [{role: user, content: three}]\n";

/// A client of either era that waits for the next notification.
enum Waiting {
    Old(Client),
    Modern(Client, Box<Subscription>),
}

impl Waiting {
    async fn new(served: &Served, era: Era) -> Self {
        let client = served.client(era).await;
        // Only changes of a listed prompt are notified.
        client.client.list_prompts(None).await.expect("lists");
        match era {
            Era::Legacy => Self::Old(client),
            Era::Modern => {
                let filter = SubscriptionFilter::builder().prompts_list_changed().build();
                let listening = client.client.listen(filter).await.expect("listens");
                Self::Modern(client, Box::new(listening))
            }
        }
    }

    async fn told(&mut self) {
        match self {
            Self::Old(client) => client.told("prompts").await,
            Self::Modern(_, listening) => {
                let notice = tokio::time::timeout(LONG, listening.next()).await.expect("is told in time");
                let notice =
                    serde_json::to_value(notice.expect("goes on").expect("is a notice")).expect("is JSON");
                assert_eq!(notice["method"], "notifications/prompts/list_changed");
            }
        }
    }

    fn client(&self) -> &Client {
        match self {
            Self::Old(client) | Self::Modern(client, _) => client,
        }
    }

    /// Waits until the prompt renders `wanted`: a change that no list shows is not notified.
    async fn says(&self, wanted: &str) {
        let waiting = async {
            while self.client().text("fresh", json!({})).await != wanted {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, waiting).await.expect("says it in time");
    }
}

async fn follows_a_file(era: Era) {
    let served = Served::with(&[]);
    let mut waiting = Waiting::new(&served, era).await;
    served.write("fresh/prompt.yaml", GOOD);
    waiting.told().await;
    assert_eq!(waiting.client().text("fresh", json!({})).await, "one");
    served.write("fresh/prompt.yaml", CHANGED);
    waiting.told().await;
    assert_eq!(waiting.client().text("fresh", json!({})).await, "two");
    served.write("fresh/prompt.yaml", BROKEN);
    // A second prompt shows that the broken one was seen, which causes no notification itself.
    served.write("other/prompt.yaml", GOOD);
    waiting.told().await;
    assert_eq!(waiting.client().text("other", json!({})).await, "one");
    assert_eq!(waiting.client().text("fresh", json!({})).await, "two", "its last good state serves");
    served.write("fresh/prompt.yaml", FIXED);
    waiting.told().await;
    assert_eq!(waiting.client().text("fresh", json!({})).await, "three");
    std::fs::remove_dir_all(served.prompt_file("fresh")).expect("is removed");
    waiting.told().await;
    assert!(waiting.client().get("fresh", json!({})).await.is_err(), "it is gone");
}

#[tokio::test]
async fn a_modern_client_is_notified_of_a_changed_file() {
    follows_a_file(Era::Modern).await;
}

#[tokio::test]
async fn a_legacy_client_is_notified_of_a_changed_file() {
    follows_a_file(Era::Legacy).await;
}

#[tokio::test]
async fn a_broken_partial_keeps_its_last_good_state() {
    let served = Served::with(&[
        ("partials/rules.jinja2", "be kind"),
        ("fresh/template.md", "Rules: {% include 'partials/rules.jinja2' %}"),
    ]);
    let mut waiting = Waiting::new(&served, Era::Legacy).await;
    waiting.says("Rules: be kind").await;
    served.write("partials/rules.jinja2", "{% if %}");
    served.write("other/prompt.yaml", GOOD);
    waiting.told().await;
    waiting.says("Rules: be kind").await;
    served.write("partials/rules.jinja2", "be brave");
    waiting.says("Rules: be brave").await;
}
