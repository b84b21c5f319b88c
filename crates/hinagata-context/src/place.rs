//! What the place of a program in a tree tells about it: whether it is the program itself, or serves it.

/// Names of directories whose programs test, measure, show or check the project, in lower case.
const SERVING_DIRECTORIES: &[&str] = &[
    "__tests__",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "ci",
    "demo",
    "demos",
    "doc",
    "docs",
    "example",
    "examples",
    "fixtures",
    "sample",
    "samples",
    "spec",
    "specs",
    "test",
    "testdata",
    "tests",
];

/// Names of files that say how to build what is beside them, in lower case. `Makefile.am` counts as `Makefile`.
const BUILD_NAMES: &[&str] = &[
    "build",
    "cmakelists.txt",
    "configure.ac",
    "containerfile",
    "dockerfile",
    "gnumakefile",
    "justfile",
    "makefile",
    "meson.build",
    "meson_options.txt",
    "sconscript",
    "wscript",
];

/// Extensions of such files.
const BUILD_EXTENSIONS: &[&str] =
    &["bazel", "bzl", "cmake", "containerfile", "dockerfile", "gradle", "in", "mk"];

/// Whether a file is beneath a directory whose name starts with a dot: settings and scripts of services and editors.
pub(crate) fn is_in_hidden(path: &str) -> bool {
    directories(path).any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
}

/// Whether a program tests, measures, shows, checks or builds the project, as far as its path tells. Build files at the
/// top describe the whole project and count as the program.
pub(crate) fn serves_program(path: &str) -> bool {
    let is_serving = |part: &str| SERVING_DIRECTORIES.iter().any(|name| part.eq_ignore_ascii_case(name));
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    directories(path).any(is_serving) || is_test_name(name) || (!above.is_empty() && is_build_name(name))
}

fn is_build_name(name: &str) -> bool {
    let is_one = |names: &[&str], part: &str| names.iter().any(|known| part.eq_ignore_ascii_case(known));
    let (first, _) = name.split_once('.').unwrap_or((name, ""));
    let (_, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    is_one(BUILD_NAMES, name)
        || is_one(BUILD_EXTENSIONS, extension)
        || (is_one(&["dockerfile", "makefile"], first) && extension != name)
}

/// Names by which test runners find their files.
fn is_test_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem == "conftest"
        || stem.starts_with("test_")
        || [".spec", ".test", "_spec", "_test"].iter().any(|end| stem.ends_with(end))
}

fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit_once('/').map_or("", |(directories, _)| directories).split('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_make_a_file_hidden() {
        for path in [".github/a.sh", "a/.storybook/main.ts", "../.devops/x/Dockerfile"] {
            assert!(is_in_hidden(path), "{path}");
        }
        for path in ["", "a.rs", ".bashrc", "a/.eslintrc.js", "../a.rs", "./a.rs", "a.b/c.rs"] {
            assert!(!is_in_hidden(path), "{path}");
        }
    }

    #[test]
    fn tests_and_examples_are_known_by_directories_and_names() {
        for path in [
            "tests/a.rs",
            "src/test/java/A.java",
            "Examples/a.py",
            "ci/run.sh",
            "docs/conf.py",
            "pkg/a_test.go",
            "a/test_b.py",
            "conftest.py",
            "web/a.spec.ts",
            "web/a.test.tsx",
            "lib/a_spec.rb",
            "ggml/CMakeLists.txt",
            "cmake/common.cmake",
            "src/Makefile.am",
            "tools/cuda.Dockerfile",
        ] {
            assert!(serves_program(path), "{path}");
        }
        for path in
            ["", "src/test.rs", "src/tests.rs", "src/contest.rs", "latest/a.c", "testing/a.go", "a.py"]
                .into_iter()
                .chain([
                    "CMakeLists.txt",
                    "Makefile",
                    "src/makefile_reader.rs",
                    "src/build.rs",
                    "src/cmake.py",
                ])
        {
            assert!(!serves_program(path), "{path}");
        }
    }
}
