//! Fixes the engine digest: SHA-256 over everything that can change a rule.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Folders and files, relative to the project's root, with the endings that count.
const SOURCES: &[(&str, &[&str])] = &[
    ("Cargo.lock", &["lock"]),
    ("proto/steelyard", &["proto"]),
    ("rust_core", &["rs", "toml"]),
    ("service/steelyard", &["py", "json"]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for (source, endings) in SOURCES {
        let path = root.join(source);
        println!("cargo:rerun-if-changed={}", path.display());
        collect(&path, endings, &mut files)?;
    }
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&root)?;
        let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
        named.push((parts.join("/"), file));
    }
    named.sort();
    let mut digest = Sha256::new();
    for (name, file) in named {
        let content = fs::read(file)?;
        // Length prefixes keep a name and its content apart.
        digest.update((name.len() as u64).to_be_bytes());
        digest.update(name.as_bytes());
        digest.update((content.len() as u64).to_be_bytes());
        digest.update(&content);
    }
    println!("cargo:rustc-env=STEELYARD_ENGINE_DIGEST={}", hex::encode(digest.finalize()));
    Ok(())
}

fn collect(path: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), endings, files)?;
        }
    } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
        files.push(path.to_owned());
    }
    Ok(())
}
