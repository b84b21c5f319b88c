//! `hina serve` in a home, from its start to what it said until its end.

use std::{
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::support::{Home, Ran};

/// Far longer than anything takes: only a test that fails waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A daemon that serves until it is dropped.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) address: String,
    /// Whoever reads what it says on standard error.
    said: Option<JoinHandle<String>>,
}

impl Daemon {
    /// Starts it in the workspace of `home`.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        Self::try_start(home, arguments, &[]).unwrap_or_else(|ran| panic!("it does not start: {ran:?}"))
    }

    /// Starts it with variables of the environment; what it said when it does not serve.
    pub(crate) fn try_start(
        home: &Home,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Self, Ran> {
        let mut command = home.command(&["serve"]);
        let listen: &[&str] =
            if arguments.contains(&"--config") { &[] } else { &["--listen", "127.0.0.1:0"] };
        command.args(listen).args(arguments).envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let said = read_all(child.stderr.take().expect("is piped"));
        let mut stdout = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        output.read_line(&mut stdout).expect("can be read");
        // Whatever else it prints must not keep it waiting.
        read_all(output);
        if let Some(address) = stdout.trim().strip_prefix("listening on http://") {
            return Ok(Self { child, address: address.to_owned(), said: Some(said) });
        }
        let code = child.wait().expect("ends").code().unwrap_or(-1);
        Err(Ran { code, stdout, stderr: said.join().expect("is read") })
    }

    /// What it says where it must not serve.
    pub(crate) fn refused(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        match Self::try_start(home, arguments, variables) {
            Ok(_) => panic!("it serves with {arguments:?} and {variables:?}"),
            Err(ran) => ran,
        }
    }

    /// The token of this start, with which its user may do what is not open.
    pub(crate) fn token(&self, home: &Home) -> String {
        let port = self.address.rsplit(':').next().expect("has a port");
        let token = std::fs::read_to_string(home.outside(&format!("state/daemon/token-{port}")));
        token.expect("is kept").trim().to_owned()
    }

    /// Stops it as its users do, so that everything is written that it has to write; what it said.
    pub(crate) fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("runs");
        assert!(sent.success() && self.child.wait().expect("ends").success(), "it stops");
        self.said.take().expect("is taken here alone").join().expect("is read")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads everything that comes, for good.
fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        let _ = from.read_to_string(&mut text);
        text
    })
}

/// Waits until exactly `count` processes have given themselves this name.
pub(crate) fn wait_for_processes(name: &str, count: usize) {
    let is_called =
        |path: &Path| std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name);
    let all = || {
        let processes = std::fs::read_dir("/proc").expect("there are processes").flatten();
        processes.filter(|entry| is_called(&entry.path())).count()
    };
    let started = Instant::now();
    while all() != count {
        assert!(started.elapsed() < LONG, "{} processes are called {name}, not {count}", all());
        thread::yield_now();
    }
}
