//! Servers on loopback: files and git over http, git over ssh.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use super::support::run;

/// An HTTP server: some files, and the repositories of a directory.
pub(super) struct HttpServer {
    pub(super) address: String,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl HttpServer {
    pub(super) fn start(repositories: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = format!("http://{}", listener.local_addr().expect("is bound"));
        let files = Arc::new(Mutex::new(BTreeMap::<String, Vec<u8>>::new()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (of_thread, asked_of_thread) = (Arc::clone(&files), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, asked, repositories) =
                    (Arc::clone(&of_thread), Arc::clone(&asked_of_thread), repositories.clone());
                thread::spawn(move || answer(stream, &files, &asked, &repositories));
            }
        });
        Self { address, files, asked }
    }

    pub(super) fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.lock().expect("is free").insert(path.to_owned(), bytes.into());
    }

    /// The paths that were asked for since the last call.
    pub(super) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("is free"))
    }
}

fn answer(
    stream: TcpStream,
    files: &Mutex<BTreeMap<String, Vec<u8>>>,
    asked: &Mutex<Vec<String>>,
    repositories: &Path,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let (method, target) = (*words.first()?, *words.get(1)?);
    asked.lock().expect("is free").push(target.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if let Some(bytes) = files.lock().expect("is free").get(path).cloned() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
        stream.write_all(head.as_bytes()).ok()?;
        return stream.write_all(&bytes).ok();
    }
    if !path.starts_with("/git/") {
        return stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .ok();
    }
    let mut backend = Command::new("git");
    backend
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", repositories)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", method)
        .env("PATH_INFO", path.trim_start_matches("/git"))
        .env("QUERY_STRING", query)
        .env("CONTENT_LENGTH", length.to_string())
        .env("REMOTE_ADDR", "127.0.0.1");
    for (name, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = headers.get(name) {
            backend.env(variable, value);
        }
    }
    let mut child =
        backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    child.stdin.take()?.write_all(&body).ok()?;
    let output = child.wait_with_output().ok()?.stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let body = &output[end + 4..];
    let head =
        format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}

/// An ssh server that lets one key in.
pub(super) struct SshServer {
    child: Child,
    pub(super) port: u16,
    /// The command for git.
    pub(super) command: String,
}

impl SshServer {
    pub(super) fn start(place: &Path) -> Self {
        fs::create_dir_all(place).expect("made");
        // Where sshd gives up its rights.
        let _ = fs::create_dir_all("/run/sshd");
        for name in ["host", "user"] {
            run(Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(place.join(name)));
        }
        fs::copy(place.join("user.pub"), place.join("authorized")).expect("copied");
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let port = listener.local_addr().expect("is bound").port();
        drop(listener);
        let here = place.display();
        let config = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {here}/host\nAuthorizedKeysFile {here}/authorized\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n"
        );
        fs::write(place.join("config"), config).expect("written");
        let child = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(place.join("config"))
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd starts; ./test --install installs it");
        let host = fs::read_to_string(place.join("host.pub")).expect("is there");
        fs::write(place.join("known"), format!("[127.0.0.1]:{port} {host}")).expect("written");
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            thread::yield_now();
        }
        let command =
            format!("ssh -F none -i {here}/user -o UserKnownHostsFile={here}/known -o IdentitiesOnly=yes");
        Self { child, port, command }
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
