//! Compares the time of outlining files with the time of packing them.
//!
//! ```sh
//! cargo run --release -p hinagata-context --example outline_speed -- DIRECTORY…
//! ```
//!
//! Packing reads the files and searches them for secrets; outlining starts with the texts in memory. Both run on all
//! processors. Linux also counts the time that they had a processor, which other programs disturb less.

use std::{
    env, fs, io,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use hinagata_context::{ContextOptions, Packer, Tokens, outline::outline_text, pack};

/// How long each of both is repeated.
const ENOUGH: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directories: Vec<_> = env::args_os().skip(1).collect();
    if directories.is_empty() {
        return Err("name at least one directory".into());
    }
    for directory in directories {
        compare_times(Path::new(&directory))?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures are what the program is for")]
fn compare_times(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let options = ContextOptions {
        tokens: Tokens { max: None, ..Tokens::default() },
        ..ContextOptions::new(directory)
    };
    let read_file = |path: String| Some((fs::read_to_string(directory.join(&path)).ok()?, path));
    let texts: Vec<_> = pack(&options)?.files.into_iter().filter_map(|file| read_file(file.path)).collect();
    let packing = measure_time(|| {
        Packer::new(&options).write_to(&mut io::sink()).map(drop).expect("it was packed before");
    });
    let mut kept = 0;
    let outlining = measure_time(|| kept = outline_all(&texts));
    let bytes: usize = texts.iter().map(|(text, _)| text.len()).sum();
    println!(
        "{}: {} files, {:.1} MB, {:.2} of the bytes stay",
        directory.display(),
        texts.len(),
        bytes as f64 / 1e6,
        kept as f64 / bytes as f64,
    );
    let ratio = |part: fn(&Times) -> f64| part(&outlining) / part(&packing);
    println!("  by the clock  {:.2} times packing, {packing}, {outlining}", ratio(|times| times.clock));
    println!("  processor     {:.2} times packing", ratio(|times| times.processor));
    Ok(())
}

/// The seconds of one run: the quickest by the clock, the mean of a processor.
struct Times {
    clock: f64,
    processor: f64,
}

impl std::fmt::Display for Times {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:.1} ms ({:.1} ms)", self.clock * 1e3, self.processor * 1e3)
    }
}

fn measure_time(mut run: impl FnMut()) -> Times {
    let (start, processor) = (Instant::now(), processor_seconds());
    let (mut clock, mut runs) = (f64::MAX, 0.0);
    while start.elapsed() < ENOUGH {
        let begin = Instant::now();
        run();
        clock = clock.min(begin.elapsed().as_secs_f64());
        runs += 1.0;
    }
    Times { clock, processor: (processor_seconds() - processor) / runs }
}

/// How long this process had a processor, where the system says so: fields 14 and 15 of its state, in hundredths.
fn processor_seconds() -> f64 {
    let state = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = state.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Outlines all texts; returns the bytes of the outlines.
fn outline_all(texts: &[(String, String)]) -> usize {
    let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((text, path)) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    kept.fetch_add(outline_text(path, text).to_string().len(), Ordering::Relaxed);
                }
            });
        }
    });
    kept.into_inner()
}
