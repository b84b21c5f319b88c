//! The filter `urlize`: turns addresses into links.

use hinagata_value::{Arguments, Error, Result, Text, Value};

use super::{flag, optional_argument};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_string, to_index},
        methods::split_words,
        ops::iterate_value,
        print::{print_escaped, repr_str},
        textual::{charge_characters, finish_text, to_textual},
        unicode::{is_decimal, is_space, is_word},
    },
};

/// The style of links.
struct Style<'a> {
    /// The maximum number of visible characters of an address.
    limit: Option<i64>,
    /// The attributes of a link after its address.
    attributes: Text<'a>,
    /// Further prefixes of addresses.
    schemes: Vec<String>,
}

/// `urlize`: the escaped text with addresses as links.
pub(super) fn urlize<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [limit, nofollow, target, rel, extra_schemes] = bind_arguments(
        arguments,
        "urlize",
        ["trim_url_limit", "nofollow", "target", "rel", "extra_schemes"],
        0,
    )?;
    let style = Style {
        limit: optional_argument(limit).map(|limit| to_index(cx, limit)).transpose()?,
        attributes: attributes(
            cx,
            flag(cx, nofollow, false)?,
            optional_argument(target),
            optional_argument(rel),
        )?,
        schemes: schemes(cx, optional_argument(extra_schemes))?,
    };
    let mut escaped = cx.heap.text();
    print_escaped(cx, &value, &mut escaped)?;
    charge_characters(cx, escaped.as_str())?;
    let mut result = cx.heap.text();
    let mut rest = escaped.as_str();
    while !rest.is_empty() {
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        push_word(&style, word, &mut result)?;
        let spaces = after.len() - after.trim_start_matches(is_space).len();
        result.push_str(&after[..spaces])?;
        rest = &after[spaces..];
    }
    finish_text(result, cx.autoescape)
}

fn attributes<'a>(
    cx: &Context<'_, 'a>,
    nofollow: bool,
    target: Option<&Value<'a>>,
    rel: Option<&Value<'a>>,
) -> Result<Text<'a>> {
    let rel = rel.map(|rel| to_textual(cx, rel)).transpose()?;
    let mut rels: Vec<&str> = split_words(rel.as_deref().unwrap_or_default(), usize::MAX).collect();
    rels.push("noopener");
    if nofollow {
        rels.push("nofollow");
    }
    rels.sort_unstable();
    rels.dedup();
    let mut text = cx.heap.text();
    let rels = cx.heap.string(&rels.join(" "))?;
    text.push_str(" rel=\"")?;
    print_escaped(cx, &rels, &mut text)?;
    text.push_str("\"")?;
    if let Some(target) = target.filter(|target| target.as_str() != Some("")) {
        text.push_str(" target=\"")?;
        print_escaped(cx, target, &mut text)?;
        text.push_str("\"")?;
    }
    Ok(text)
}

fn schemes<'a>(cx: &Context<'_, 'a>, schemes: Option<&Value<'a>>) -> Result<Vec<String>> {
    let Some(schemes) = schemes else { return Ok(Vec::new()) };
    let mut checked = Vec::new();
    for scheme in iterate_value(cx, schemes)? {
        let scheme = expect_string(cx, "urlize", &scheme)?;
        let name = scheme.trim_end_matches('/');
        let slashes = scheme.len() - name.len();
        let valid = |name: &str| {
            name.chars().count() >= 2
                && name.chars().all(|next| is_word(next) || matches!(next, '.' | '+' | '-'))
        };
        if slashes > 2 || !name.strip_suffix(':').is_some_and(valid) {
            let mut quoted_scheme = cx.heap.text();
            repr_str(scheme, &mut quoted_scheme, false)?;
            return Err(Error::runtime(format!("{} is not a URL prefix", quoted_scheme.as_str())));
        }
        cx.heap.budget().step_bytes(scheme.len())?;
        checked.push(scheme.to_owned());
    }
    Ok(checked)
}

/// Punctuation before and after an address that is not part of it.
const OPENERS: [&str; 3] = ["(", "<", "&lt;"];
const CLOSERS: [&str; 6] = [")", ">", ".", ",", "\n", "&gt;"];

fn push_word(style: &Style<'_>, word: &str, result: &mut Text<'_>) -> Result<()> {
    let mut middle = word;
    while let Some(rest) = OPENERS.iter().find_map(|opener| middle.strip_prefix(opener)) {
        middle = rest;
    }
    let head = &word[..word.len() - middle.len()];
    let start = middle;
    while let Some(rest) = CLOSERS.iter().find_map(|closer| middle.strip_suffix(closer)) {
        middle = rest;
    }
    let middle = close_brackets(start, middle.len());
    let tail = &start[middle.len()..];
    result.push_str(head)?;
    push_middle(style, middle, result)?;
    result.push_str(tail)
}

/// The first `len` bytes of a word, extended to include the brackets that close those opened inside.
fn close_brackets(word: &str, mut len: usize) -> &str {
    for (opener, closer) in [("(", ")"), ("<", ">"), ("&lt;", "&gt;")] {
        let opened = word[..len].matches(opener).count();
        if opened <= word[..len].matches(closer).count() {
            continue;
        }
        for _ in 0..opened.min(word[len..].matches(closer).count()) {
            let Some(at) = word[len..].find(closer) else { break };
            len += at + closer.len();
        }
    }
    &word[..len]
}

fn push_middle(style: &Style<'_>, middle: &str, result: &mut Text<'_>) -> Result<()> {
    let attributes = style.attributes.as_str();
    if is_address(middle) {
        let scheme =
            if middle.starts_with("https://") || middle.starts_with("http://") { "" } else { "https://" };
        result.push_fmt(format_args!("<a href=\"{scheme}{middle}\"{attributes}>"))?;
        push_cut(middle, style.limit, result)?;
        return result.push_str("</a>");
    }
    if let Some(mail) = middle.strip_prefix("mailto:").filter(|mail| is_mail(mail)) {
        return result.push_fmt(format_args!("<a href=\"{middle}\">{mail}</a>"));
    }
    if !middle.starts_with("www.") && !middle.starts_with('@') && !middle.contains(':') && is_mail(middle) {
        return result.push_fmt(format_args!("<a href=\"mailto:{middle}\">{middle}</a>"));
    }
    result.budget().charge_steps(style.schemes.len() as u64)?;
    let linked = |scheme: &&String| middle != scheme.as_str() && middle.starts_with(scheme.as_str());
    match style.schemes.iter().find(linked) {
        Some(_) => result.push_fmt(format_args!("<a href=\"{middle}\"{attributes}>{middle}</a>")),
        None => result.push_str(middle),
    }
}

/// Appends the first characters of an address, with dots if it is longer.
fn push_cut(address: &str, limit: Option<i64>, result: &mut Text<'_>) -> Result<()> {
    let len = i64::try_from(address.chars().count()).unwrap_or(i64::MAX);
    match limit {
        Some(limit) if len > limit => {
            // A negative limit counts from the end.
            let shown_len = if limit < 0 { (len + limit).max(0) } else { limit };
            let end = address
                .char_indices()
                .nth(usize::try_from(shown_len).unwrap_or(0))
                .map_or(address.len(), |(at, _)| at);
            result.push_str(&address[..end])?;
            result.push_str("...")
        }
        _ => result.push_str(address),
    }
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Whether a word is a web address: with a scheme, with `www.`, or with a well-known top-level domain.
fn is_address(word: &str) -> bool {
    let scheme = ["https://", "http://"].iter().find_map(|scheme| strip_prefix_ignoring_case(word, scheme));
    let host = match scheme.or_else(|| strip_prefix_ignoring_case(word, "www.")) {
        Some(rest) if scheme.is_some() && rest.starts_with('[') => {
            return rest[1..].split_once(']').is_some_and(|(host, rest)| is_ipv6(host) && is_path(rest));
        }
        Some(rest) => rest,
        None => word,
    };
    let end = host.find([':', '/', '?', '#']).unwrap_or(host.len());
    let (name, rest) = host.split_at(end);
    if !is_path(rest) {
        return false;
    }
    let plain = is_common_domain(&word[..word.len() - rest.len()]);
    let prefixed = host.len() < word.len() && (is_domain(name) || (scheme.is_some() && is_ipv4(name)));
    plain || prefixed
}

/// Whether a text is a TCP port, a path, a query and a fragment, each of them optional.
fn is_path(text: &str) -> bool {
    let rest = match text.strip_prefix(':') {
        Some(port) => {
            let digits = port.chars().take_while(|next| is_decimal(*next)).count();
            if !(1..=5).contains(&digits) {
                return false;
            }
            port.trim_start_matches(is_decimal)
        }
        None => text,
    };
    rest.is_empty() || rest.starts_with(['/', '?', '#'])
}

fn is_label(label: &str) -> bool {
    !label.is_empty() && label.chars().all(|next| is_word(next) || matches!(next, '%' | '-'))
}

/// Whether a name consists of labels separated by dots, the last a top-level domain.
fn is_domain(name: &str) -> bool {
    let (labels, top) = name.rsplit_once('.').map_or((None, name), |(labels, top)| (Some(labels), top));
    let plain = (2..=63).contains(&top.len()) && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    let encoded = strip_prefix_ignoring_case(top, "xn--").is_some_and(|rest| {
        (2..=59).contains(&rest.chars().count()) && rest.chars().all(|next| is_word(next) || next == '%')
    });
    (plain || encoded) && labels.is_none_or(|labels| labels.split('.').all(is_label))
}

/// Whether a domain is recognised without a scheme.
fn is_common_domain(name: &str) -> bool {
    const TOPS: [&str; 8] = ["com", "net", "int", "edu", "gov", "org", "info", "mil"];
    let Some((labels, top)) = name.rsplit_once('.') else { return false };
    let sized = |label: &str| is_label(label) && (2..=63).contains(&label.chars().count());
    TOPS.iter().any(|known| known.eq_ignore_ascii_case(top)) && labels.split('.').all(sized)
}

fn is_ipv4(name: &str) -> bool {
    let number = |part: &str| (1..=3).contains(&part.chars().count()) && part.chars().all(is_decimal);
    name.split('.').count() == 4 && name.split('.').all(number)
}

/// Whether a name has groups of up to four hexadecimal digits between colons, and not too many groups.
fn is_ipv6(name: &str) -> bool {
    let groups: Vec<usize> = name.split(':').map(|group| group.chars().count()).collect();
    let digits = |next: char| next == ':' || next.is_ascii_hexdigit() || is_decimal(next);
    if groups.len() < 3 || groups[..2].iter().any(|len| *len > 4) || !name.chars().all(digits) {
        return false;
    }
    // Each further group counts as one piece for every four digits; an empty group before a colon counts as
    // one.
    let last = groups.len() - 1;
    let pieces =
        |(at, len): (usize, &usize)| if at == last { len.div_ceil(4) } else { len.div_ceil(4).max(1) };
    groups.iter().enumerate().skip(2).map(pieces).sum::<usize>() <= 6
}

fn is_mail(word: &str) -> bool {
    let Some((name, domain)) = word.rsplit_once('@') else { return false };
    let Some((before, end)) = domain.rsplit_once('.') else { return false };
    let starts = before.chars().next().is_some_and(is_word);
    let inside = before.chars().all(|next| is_word(next) || matches!(next, '.' | '-'));
    !name.is_empty() && starts && inside && !end.is_empty() && end.chars().all(is_word)
}
