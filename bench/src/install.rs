//! Brings the peers of other languages into the cache directory.
//!
//! Each place remembers the list of packages it was made from, and is made anew when that changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// The packers that `context` is measured against.
const REPOMIX: &str = "repomix@1.18.1";
const CODE2PROMPT: &str = "4.3.0";
/// The evaluator that `test` is measured against.
const PROMPTFOO: &str = "promptfoo@0.121.20";

/// The variable with the path of a `hina` that is measured instead of a new build.
pub(crate) const HINA: &str = "HINAGATA_BENCH_HINA";
/// The variable with the path of a wheel that is measured instead of a new build.
const WHEEL: &str = "HINAGATA_BENCH_WHEEL";
/// The variable with the directory of everything that is kept between runs; `bench/run` reads it.
pub(crate) const CACHE: &str = "HINAGATA_CACHE";

/// Where peers come from and where they go.
#[derive(Debug)]
pub(crate) struct Installer {
    /// The directory of the benchmarks.
    pub(crate) home: PathBuf,
    /// Where things are kept between runs.
    pub(crate) cache: PathBuf,
}

impl Installer {
    /// A Python with the packages of `peers/requirements.txt`: Jinja2, and the Go toolchain.
    pub(crate) fn python(&self) -> Result<PathBuf> {
        self.venv("python", &self.home.join("peers/requirements.txt"))
    }

    /// A Python with the packages of `requirements`.
    fn venv(&self, name: &str, requirements: &Path) -> Result<PathBuf> {
        let place = self.cache.join(name);
        let python = place.join("bin/python");
        once(&place, &read(requirements)?, || {
            run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
            run(pip.arg(requirements))
        })?;
        Ok(python)
    }

    /// A Python with Jinja2 and ruff.
    pub(crate) fn checkers(&self) -> Result<PathBuf> {
        self.venv("check", &self.home.join("peers/check/requirements.txt"))
    }

    /// A Python with FastMCP.
    pub(crate) fn fastmcp(&self) -> Result<PathBuf> {
        self.venv("fastmcp", &self.home.join("peers/fastmcp/requirements.txt"))
    }

    /// The command of ruff.
    pub(crate) fn ruff(&self) -> Result<PathBuf> {
        Ok(self.venv("ruff", &self.home.join("peers/ruff/requirements.txt"))?.with_file_name("ruff"))
    }

    /// A Python with Jinja2, minijinja and our wheel: the one that [`WHEEL`] names, or built as it is shipped.
    pub(crate) fn wheel(&self) -> Result<PathBuf> {
        static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
        if let Some(python) = INSTALLED.get() {
            return Ok(python.clone());
        }
        let python = self.venv("python-wheel", &self.home.join("peers/python/requirements.txt"))?;
        let wheel = match std::env::var_os(WHEEL) {
            Some(wheel) => PathBuf::from(wheel),
            None => self.build_wheel(&python)?,
        };
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]);
        run(pip.args(["--force-reinstall", "--no-deps"]).arg(wheel))?;
        Ok(INSTALLED.get_or_init(|| python).clone())
    }

    fn build_wheel(&self, python: &Path) -> Result<PathBuf> {
        let out = self.cache.join("wheels");
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let mut build = Command::new(python.with_file_name("maturin"));
        build
            .args(["build", "--quiet", "--profile", "dist", "--out"])
            .arg(&out)
            .arg("--interpreter")
            .arg(python);
        build.arg("--manifest-path").arg(self.home.with_file_name("sdk").join("python/Cargo.toml"));
        run(build.env("CARGO_TARGET_DIR", self.cache.join("target")))?;
        let built = fs::read_dir(&out)?.next().context("maturin built no wheel")??;
        Ok(built.path())
    }

    /// A Python with LiteLLM and its proxy, and the version of it.
    pub(crate) fn litellm(&self) -> Result<(PathBuf, String)> {
        let requirements = self.home.join("peers/litellm/requirements.txt");
        let version = read(&requirements)?.trim().replace("[proxy]==", " ");
        Ok((self.venv("litellm", &requirements)?, version))
    }

    /// A directory whose `node_modules` has nunjucks.
    pub(crate) fn node(&self) -> Result<PathBuf> {
        self.node_modules("node", "nunjucks")
    }

    /// A directory whose `node_modules` has dotprompt.
    pub(crate) fn dotprompt(&self) -> Result<PathBuf> {
        self.node_modules("dotprompt", "dotprompt")
    }

    fn node_modules(&self, name: &str, peer: &str) -> Result<PathBuf> {
        let source = self.home.join("peers").join(peer);
        let wanted = read(&source.join("package.json"))? + &read(&source.join("package-lock.json"))?;
        let place = self.cache.join(name);
        once(&place, &wanted, || {
            fs::create_dir_all(&place)?;
            for file in ["package.json", "package-lock.json"] {
                fs::copy(source.join(file), place.join(file))?;
            }
            run(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&place))
        })?;
        Ok(place)
    }

    /// The command of repomix, from npm.
    pub(crate) fn repomix(&self) -> Result<PathBuf> {
        let place = self.cache.join("repomix");
        once(&place, REPOMIX, || {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(&place).arg(REPOMIX);
            run(&mut npm)
        })?;
        Ok(place.join("node_modules/.bin/repomix"))
    }

    /// The command of promptfoo, from npm.
    pub(crate) fn promptfoo(&self) -> Result<PathBuf> {
        let place = self.cache.join("promptfoo");
        once(&place, PROMPTFOO, || {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
                .arg(&place)
                .arg(PROMPTFOO);
            run(&mut npm)
        })?;
        Ok(place.join("node_modules/.bin/promptfoo"))
    }

    /// The command of code2prompt, from crates.io.
    pub(crate) fn code2prompt(&self) -> Result<PathBuf> {
        let place = self.cache.join("code2prompt");
        once(&place, CODE2PROMPT, || {
            let mut cargo = Command::new("cargo");
            cargo.args(["install", "code2prompt", "--version", CODE2PROMPT, "--locked", "--quiet", "--root"]);
            run(cargo.arg(&place).env("CARGO_TARGET_DIR", self.cache.join("code2prompt-target")))
        })?;
        Ok(place.join("bin/code2prompt"))
    }

    /// The command of the product: the one that [`HINA`] names, or built as it is shipped.
    pub(crate) fn hina(&self) -> Result<PathBuf> {
        if let Some(program) = std::env::var_os(HINA) {
            return Ok(program.into());
        }
        let manifest = self.home.with_file_name("Cargo.toml");
        let target = self.cache.join("target");
        let mut build = Command::new("cargo");
        build
            .args(["build", "--profile", "dist", "--quiet", "--package", "hinagata-cli", "--manifest-path"])
            .arg(manifest);
        run(build.env("CARGO_TARGET_DIR", &target))?;
        Ok(target.join("dist/hina"))
    }

    /// Go's `text/template`, built by the toolchain of [`Installer::python`].
    pub(crate) fn go_peer(&self) -> Result<PathBuf> {
        self.go_program("gotemplate")
    }

    /// The daemon in Go, built by the same toolchain.
    pub(crate) fn go_daemon(&self) -> Result<PathBuf> {
        self.go_program("godaemon")
    }

    fn go_program(&self, name: &str) -> Result<PathBuf> {
        let go = self.python()?.with_file_name("go");
        let program = self.cache.join(format!("{name}-peer"));
        let mut build = Command::new(go);
        build.args(["build", "-o"]).arg(&program).arg(".").current_dir(self.home.join("peers").join(name));
        build.env("GOCACHE", self.cache.join("go-build")).env("GOPATH", self.cache.join("go"));
        build.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-buildvcs=false").env("CGO_ENABLED", "0");
        run(&mut build)?;
        Ok(program)
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Makes `place` with `make`, unless it was made completely from the same list.
fn once(place: &Path, wanted: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let mark = place.join("made-from");
    if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    make()?;
    fs::write(mark, wanted)?;
    Ok(())
}

/// Runs `command`; what it prints goes to standard error, because standard output is for results.
fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!("{name} failed: {}", said.trim().lines().last().unwrap_or("without a word"))
}
