//! The buffer pool: bounded in count and size, and no text of an earlier render shows.

use hinagata_template::{Language, Options, Pool, PooledText, Render, Template};
use hinagata_value::Limits;
use proptest::prelude::*;
use serde_json::json;

fn template() -> Template {
    let source = "{% if fail %}{{ 1 // 0 }}{% endif %}{{ text }}";
    Template::compile(Language::Jinja, "t", source, &Options::default(), &Limits::default())
        .expect("compiles")
}

fn render(template: &Template, pool: &Pool, size: usize) -> PooledText {
    let text = "x".repeat(size);
    Render::new().render_pooled(template, &json!({"text": text}), pool).expect("renders")
}

#[test]
fn buffers_come_back_and_are_used_again() {
    let (pool, template) = (Pool::new(2, 1000), template());
    let first = render(&template, &pool, 100);
    assert!(pool.is_empty());
    drop(first);
    assert_eq!(pool.len(), 1);
    let second = render(&template, &pool, 10);
    assert_eq!(&*second, "x".repeat(10));
    assert!(pool.is_empty(), "the buffer is in use");
    drop(second);
    assert_eq!(pool.len(), 1);
}

#[test]
fn a_text_that_is_kept_does_not_come_back() {
    let (pool, template) = (Pool::new(2, 1000), template());
    assert_eq!(render(&template, &pool, 3).into_string(), "xxx");
    assert!(pool.is_empty());
}

#[test]
fn a_failed_render_gives_its_buffer_back() {
    let (pool, template) = (Pool::new(2, 1000), template());
    drop(render(&template, &pool, 10));
    let failed = Render::new().render_pooled(&template, &json!({"fail": true}), &pool);
    assert!(failed.is_err());
    assert_eq!(pool.len(), 1);
}

#[test]
fn a_large_buffer_does_not_use_up_a_small_budget() {
    let (pool, template) = (Pool::new(2, 1 << 20), template());
    drop(render(&template, &pool, 100_000));
    let limits = Limits { bytes: 10_000, ..Limits::default() };
    let text = Render::new().with_limits(limits).render_pooled(&template, &json!({"text": "small"}), &pool);
    assert_eq!(&*text.expect("renders"), "small");
}

#[test]
fn a_pool_is_shared_between_threads() {
    let (pool, template) = (Pool::new(3, 1000), template());
    std::thread::scope(|scope| {
        for size in 1..=8 {
            let (pool, template) = (pool.clone(), &template);
            scope.spawn(move || {
                for _ in 0..50 {
                    assert_eq!(render(template, &pool, size * 10).len(), size * 10);
                }
            });
        }
    });
    assert!(pool.len() <= 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_pool_never_holds_more_than_it_may(
        count in 0_usize..4,
        size in 0_usize..400,
        uses in prop::collection::vec((0_usize..800, any::<bool>()), 1..20),
    ) {
        let (pool, template) = (Pool::new(count, size), template());
        let mut held = Vec::new();
        for (length, keep) in uses {
            let text = render(&template, &pool, length);
            prop_assert_eq!(text.len(), length);
            if keep { held.push(text) } else { held.clear() }
            prop_assert!(pool.len() <= count);
        }
        drop(held);
        prop_assert!(pool.len() <= count);
    }
}
