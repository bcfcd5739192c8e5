//! Computes the core version: a hash of all Rust sources that results depend on, so that results of other
//! sources are never reused.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The crates that all results depend on, and the one that only results of the real world depend on.
const CRATES: [&str; 3] = ["aqm", "sim", "py"];
const GATEWAY: [&str; 1] = ["gateway"];

fn main() {
    println!("cargo::rustc-env=SOJOURN_SOURCES={:012x}", hash(&CRATES) >> 16);
    println!("cargo::rustc-env=SOJOURN_GATEWAY={:012x}", hash(&GATEWAY) >> 16);
}

fn hash(names: &[&str]) -> u64 {
    let crates = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325; // FNV-1a
    for name in names {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files);
        files.sort();
        for file in files {
            let relative = file.strip_prefix(&crates).unwrap().to_string_lossy().replace('\\', "/");
            for byte in relative.bytes().chain([0]).chain(fs::read(&file).unwrap()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    hash
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
