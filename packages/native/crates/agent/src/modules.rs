//! Kernel modules of a bare box, loaded in the order that the maker of the initramfs wrote down.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use boxlab_protocol::Module;
use rustix::io::Errno;
use rustix::system::finit_module;

use crate::clock;

/// The folder of the modules. Its file `order` names them, one a line, what a module needs before it.
pub const FOLDER: &str = "/lib/modules/boxlab";

/// Loads every module of the order file of `folder`. A module that fails is told and holds up no other; a folder
/// without an order file is a kernel that has everything built in.
pub fn load_all(folder: &Path, troubles: &mut Vec<String>) -> Vec<Module> {
    let order = folder.join("order");
    let text = match fs::read_to_string(&order) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            troubles.push(format!("cannot read the list of modules {}: {error}", order.display()));
            return Vec::new();
        }
    };
    let (files, strange) = parse_order(&text);
    troubles.extend(strange.into_iter().map(|line| format!("{} names no file: {line:?}", order.display())));
    files
        .into_iter()
        .map(|file| {
            let begun_ns = clock::monotonic_ns();
            let error = load(&folder.join(file)).err();
            Module { file: file.to_owned(), took_ns: clock::monotonic_ns() - begun_ns, error }
        })
        .collect()
}

/// The file names of an order file, and the lines that are none. Blank lines and lines that begin with `#` are
/// neither.
fn parse_order(text: &str) -> (Vec<&str>, Vec<&str>) {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .partition(|line| !line.contains('/') && line.ends_with(".ko"))
}

fn load(path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    match finit_module(&file, c"", 0) {
        // A module that is there already is as good as loaded.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(format!("the kernel refused {}: {errno}{}", path.display(), hint(errno))),
    }
}

/// What the kernel means by an errno of finit_module(2).
fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::NOEXEC => "; it is not a module of this kernel version, or it is compressed",
        Errno::NOENT => "; it needs a symbol that no loaded module has: is the order complete?",
        Errno::NODEV => "; it found no device that it drives",
        Errno::NOKEY | Errno::KEYREJECTED => "; this kernel takes signed modules only",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_file_keeps_its_order_and_leaves_out_blanks_and_comments() {
        let (files, strange) = parse_order("virtio_ring.ko\n\n  virtio.ko  \n# the bus\nvirtio_pci.ko");
        assert_eq!(files, ["virtio_ring.ko", "virtio.ko", "virtio_pci.ko"]);
        assert!(strange.is_empty());
    }

    #[test]
    fn a_line_that_is_no_file_name_is_told_and_left_out() {
        let (files, strange) = parse_order("../../evil.ko\nvirtio.ko\nvirtio.ko.xz\n");
        assert_eq!(files, ["virtio.ko"]);
        assert_eq!(strange, ["../../evil.ko", "virtio.ko.xz"]);
    }

    #[test]
    fn a_folder_without_an_order_has_no_modules_and_no_trouble() {
        let mut troubles = Vec::new();
        assert!(load_all(Path::new("/nonexistent"), &mut troubles).is_empty());
        assert!(troubles.is_empty());
    }

    #[test]
    fn a_module_that_cannot_be_loaded_holds_up_no_other() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("order"), "missing.ko\nnonsense.ko\n").unwrap();
        fs::write(folder.path().join("nonsense.ko"), "not an ELF file").unwrap();
        let mut troubles = Vec::new();
        let modules = load_all(folder.path(), &mut troubles);
        assert_eq!(
            modules.iter().map(|module| module.file.as_str()).collect::<Vec<_>>(),
            ["missing.ko", "nonsense.ko"]
        );
        assert!(modules[0].error.as_ref().unwrap().contains("cannot open"), "{modules:?}");
        // Without the right to load modules the kernel does not look at the file at all.
        assert!(modules[1].error.as_ref().unwrap().contains("the kernel refused"), "{modules:?}");
        assert!(troubles.is_empty());
    }
}
