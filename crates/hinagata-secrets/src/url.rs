//! Finds users and passwords in addresses.

use std::ops::Range;

use crate::{placeholder::is_placeholder, shape::Shape, value::is_token};

/// The longest user and password together.
const LONGEST: usize = 1 << 10;

/// The shortest password; shorter ones are examples.
const SHORTEST: usize = 4;

/// A token that stands alone before the host has at least this length.
const SHORTEST_TOKEN: usize = 20;

/// The secrets of the address whose `://` ends at `end`: the password, and a user that is a token.
pub(crate) fn find_url_secrets(text: &[u8], end: usize) -> Vec<Range<usize>> {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+.-".contains(byte);
    if end < 4 || !is_scheme(&text[end - 4]) {
        return Vec::new();
    }
    let rest = &text[end..(end + LONGEST).min(text.len())];
    let len = rest.iter().take_while(|byte| is_address_byte(**byte)).count();
    let Some(info) = user_info(&rest[..len]) else { return Vec::new() };
    let (user, password) = match info.iter().position(|byte| *byte == b':') {
        Some(colon) => (0..colon, colon + 1..info.len()),
        None => (0..info.len(), info.len()..info.len()),
    };
    let (has_token, has_password) =
        (is_user_token(&info[user.clone()]), is_password(&info[password.clone()]));
    let found = [(user, has_token), (password, has_password)].into_iter().filter(|(_, is_secret)| *is_secret);
    found.map(|(range, _)| end + range.start..end + range.end).collect()
}

fn is_address_byte(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"\"'`<>".contains(&byte)
}

/// What precedes the host: `user:password`.
fn user_info(address: &[u8]) -> Option<&[u8]> {
    let slash = address.iter().position(|byte| *byte == b'/').unwrap_or(address.len());
    let at = |text: &[u8]| text.iter().rposition(|byte| *byte == b'@');
    let info = match at(&address[..slash]) {
        Some(place) => &address[..place],
        // A password with a slash that should be encoded.
        None => &address[..at(address).filter(|place| is_host(&address[place + 1..]))?],
    };
    let colon = info.iter().position(|byte| *byte == b':').unwrap_or(info.len());
    let is_user = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+~-$=!".contains(byte);
    let password = info.get(colon + 1..).unwrap_or_default();
    // `host:8080/x@y` has a port.
    let digits = password.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_port = matches!(password.get(digits), Some(b'/' | b'?' | b'#'));
    (info[..colon].iter().all(is_user) && !is_port).then_some(info)
}

fn is_host(text: &[u8]) -> bool {
    let host = text.split(|byte| b":/?#".contains(byte)).next().unwrap_or_default();
    !host.is_empty() && host.iter().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(byte))
}

fn is_user_token(user: &[u8]) -> bool {
    let shape = Shape::from_value(user);
    user.len() >= SHORTEST_TOKEN && is_token(&shape) && !is_placeholder(user)
}

fn is_password(password: &[u8]) -> bool {
    password.len() >= SHORTEST && !is_placeholder(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(address: &str) -> Vec<&str> {
        let end = address.find("://").expect("an address") + 3;
        find_url_secrets(address.as_bytes(), end).into_iter().map(|range| &address[range]).collect()
    }

    #[test]
    fn passwords_of_addresses_are_found_whatever_they_contain() {
        for (address, password) in [
            ("postgres://app:s3kXq9@db/app", "s3kXq9"),
            ("redis://:s3kXq9@cache:6379", "s3kXq9"),
            ("https://me:p@ss:w0rd?#@host/x", "p@ss:w0rd?#"),
            ("mysql://root:a/b%40c7@10.0.0.5/shop", "a/b%40c7"),
            ("mongodb+srv://svc:Qx77pL@c0.mongodb.net,c1.mongodb.net/main", "Qx77pL"),
        ] {
            assert_eq!(secrets(address), [password], "{address}");
        }
    }

    #[test]
    fn hosts_ports_paths_and_placeholders_are_no_passwords() {
        for address in [
            "http://localhost:5173/@vite/client",
            "https://cdn.corp.net:443/npm/@scope/pkg@1.2.3",
            "https://corp.net/a:b@c",
            "https://corp.net:80?mail=a@b.c",
            "ssh://git@github.com/a/b",
            "postgres://user:password@localhost/db",
            "postgres://${USER}:${PASSWORD}@db",
            "mysql://%s:%s@tcp(%s)/%s",
            "https://:@host",
        ] {
            assert_eq!(secrets(address), [""; 0], "{address}");
        }
    }

    #[test]
    fn a_token_in_place_of_a_user_is_found() {
        assert_eq!(secrets("https://9f86d081884c7d659a2feaa0c55ad015@github.com/a/b").len(), 1);
        assert_eq!(secrets("https://Xk29fLq8vT3mZp7RwY1c:x-oauth-basic@github.com").len(), 1);
    }
}
