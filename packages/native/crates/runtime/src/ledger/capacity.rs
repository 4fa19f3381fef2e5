//! What this host can give to boxes.

use std::path::{Path, PathBuf};

/// The part of the host's memory that boxes may have together, in percent: the rest is for the engines themselves (some
/// 60 MiB each, more under TCG) and for whatever else runs.
const PERCENT: u64 = 80;

/// The guest memory that all boxes together may have where nothing else was said, in MiB: a part of the host's memory,
/// or of what this process's cgroups leave of it.
pub fn default_memory_mib() -> u64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups, Path::new("/sys/fs/cgroup")).into_iter().filter_map(|file| limit_mib(&file));
    let total = crate::host::memory_mib().into_iter().chain(limits).min();
    total.unwrap_or(1024) * PERCENT / 100
}

/// The files with the memory limits of the cgroups that a process is in, and of those above them. `groups` is
/// /proc/PID/cgroup: `0::/path` (v2), `4:memory:/path` (v1).
fn limit_files(groups: &str, root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (base, name) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            list if list.split(',').any(|one| one == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => continue,
        };
        // In a container the path may be one of the host's that is not mounted here: the missing files say nothing.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            files.push(base.join(group).join(name));
        }
    }
    files
}

fn limit_mib(file: &Path) -> Option<u64> {
    // `max` is no limit, and v1 says so with a number beyond any memory.
    Some(std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok()? / (1024 * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_looked_for_in_the_group_and_in_all_above_it() {
        let root = Path::new("/r");
        let files = |groups: &str| -> Vec<String> {
            limit_files(groups, root).iter().map(|file| file.to_string_lossy().into_owned()).collect()
        };
        assert_eq!(files("0::/a/b\n"), ["/r/a/b/memory.max", "/r/a/memory.max", "/r/memory.max"]);
        assert_eq!(
            files("9:cpu,memory:/d\n8:cpuset:/\nnonsense\n"),
            ["/r/memory/d/memory.limit_in_bytes", "/r/memory/memory.limit_in_bytes"]
        );
    }

    #[test]
    fn a_limit_is_a_number_of_bytes_and_anything_else_is_none() {
        let file = std::env::temp_dir().join(format!("boxlab-limit-{}", std::process::id()));
        let limit = |text: &str| {
            std::fs::write(&file, text).unwrap();
            limit_mib(&file)
        };
        assert_eq!(limit("536870912\n"), Some(512));
        assert_eq!(limit("max\n"), None);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(limit_mib(&file), None);
    }

    #[test]
    fn this_host_has_room_for_a_box_and_keeps_some_for_itself() {
        let memory = crate::host::memory_mib().unwrap();
        assert!((1..memory).contains(&default_memory_mib()));
    }
}
