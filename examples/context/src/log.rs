pub fn log(line: &str) {
    println!("{line}");
}
