//! Users and groups, read from the guest's own files: a static binary has no NSS, and the bare box has no files.

use std::fs;

/// Who a command runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Supplementary groups, the primary one among them.
    pub groups: Vec<u32>,
    /// Home folder.
    pub home: String,
}

/// Why a user could not be resolved.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UserFault {
    /// No such name.
    #[error("there is no user {0} in the guest's /etc/passwd; a number works without an entry")]
    NoUser(String),
    /// No such group.
    #[error("there is no group {0} in the guest's /etc/group; a number works without an entry")]
    NoGroup(String),
}

/// Resolves `name`, `uid`, `name:group` or `uid:gid` against the guest's files; `None` is root.
pub fn resolve(user: Option<&str>) -> Result<Identity, UserFault> {
    // A missing file is an empty one: the bare box has neither, and root and numbers work all the same.
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let group = fs::read_to_string("/etc/group").unwrap_or_default();
    resolve_in(user.unwrap_or("0"), &passwd, &group)
}

/// One line of passwd(5).
struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
    home: &'a str,
}

/// One line of group(5).
struct Group<'a> {
    name: &'a str,
    gid: u32,
    members: &'a str,
}

fn users(passwd: &str) -> impl Iterator<Item = User<'_>> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _password, uid, gid, _gecos) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        Some(User { name, uid: uid.parse().ok()?, gid: gid.parse().ok()?, home: fields.next()? })
    })
}

fn groups(group: &str) -> impl Iterator<Item = Group<'_>> {
    group.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _password, gid) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Group { name, gid: gid.parse().ok()?, members: fields.next().unwrap_or("") })
    })
}

fn resolve_in(user: &str, passwd: &str, group: &str) -> Result<Identity, UserFault> {
    let (user, wanted_group) = match user.split_once(':') {
        Some((user, group)) => (user, Some(group)),
        None => (user, None),
    };
    let number = user.parse::<u32>().ok();
    // A name made of digits comes first, as in chown(1).
    let entry = users(passwd)
        .find(|entry| entry.name == user)
        .or_else(|| users(passwd).find(|entry| Some(entry.uid) == number));
    let uid = match (&entry, number) {
        (Some(entry), _) => entry.uid,
        (None, Some(uid)) => uid,
        (None, None) if user == "root" => 0,
        (None, None) => return Err(UserFault::NoUser(user.to_owned())),
    };
    let gid = match wanted_group {
        // A user without an entry gets group 0, as container runtimes do it.
        None => entry.as_ref().map_or(0, |entry| entry.gid),
        Some(wanted) => groups(group)
            .find(|entry| entry.name == wanted)
            .map(|entry| entry.gid)
            .or_else(|| wanted.parse().ok())
            .ok_or_else(|| UserFault::NoGroup(wanted.to_owned()))?,
    };
    let mut all = vec![gid];
    // A group that was asked for is the only one.
    if let (Some(entry), None) = (&entry, wanted_group) {
        all.extend(
            groups(group).filter(|group| group.members.split(',').any(|name| name == entry.name)).map(|g| g.gid),
        );
        all.dedup();
    }
    let home = match &entry {
        Some(entry) if !entry.home.is_empty() => entry.home,
        None if uid == 0 => "/root",
        _ => "/",
    };
    Ok(Identity { uid, gid, groups: all, home: home.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n# a comment\nbroken\nada:x:1000:1000:Ada,,,:/home/ada:/bin/sh\n\
        7:x:70:70::/seven:/bin/sh\nhomeless:x:5:5:::/bin/false\nbad:x:minus:0::/:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nada:x:1000:\nwheel:x:10:ada,root\nkvm:x:36:nobody,ada\nadamant:x:99:adam\n";

    fn identity(user: &str) -> Result<Identity, UserFault> {
        resolve_in(user, PASSWD, GROUP)
    }

    #[test]
    fn a_name_brings_its_group_its_supplementary_groups_and_its_home() {
        let ada = Identity { uid: 1000, gid: 1000, groups: vec![1000, 10, 36], home: "/home/ada".into() };
        assert_eq!(identity("ada").unwrap(), ada);
        assert_eq!(identity("1000").unwrap(), ada);
    }

    #[test]
    fn a_group_that_is_named_is_the_only_one() {
        let expected = Identity { uid: 1000, gid: 36, groups: vec![36], home: "/home/ada".into() };
        assert_eq!(identity("ada:kvm").unwrap(), expected);
        assert_eq!(identity("1000:36").unwrap(), expected);
    }

    #[test]
    fn numbers_need_no_entry() {
        let expected = Identity { uid: 4242, gid: 0, groups: vec![0], home: "/".into() };
        assert_eq!(identity("4242").unwrap(), expected);
        assert_eq!(identity("4242:17").unwrap().groups, [17]);
        assert_eq!(resolve_in("0", "", "").unwrap().home, "/root");
        assert_eq!(resolve_in("root", "", "").unwrap().uid, 0);
    }

    #[test]
    fn a_name_made_of_digits_comes_before_the_number() {
        assert_eq!(identity("7").unwrap().uid, 70);
    }

    #[test]
    fn an_entry_without_a_home_has_the_root_folder() {
        assert_eq!(identity("homeless").unwrap().home, "/");
    }

    #[test]
    fn unknown_names_are_refused_by_name() {
        assert_eq!(identity("bob"), Err(UserFault::NoUser("bob".into())));
        assert_eq!(identity("bad"), Err(UserFault::NoUser("bad".into())));
        assert_eq!(identity("ada:nogroup"), Err(UserFault::NoGroup("nogroup".into())));
        assert_eq!(identity(""), Err(UserFault::NoUser(String::new())));
        assert_eq!(identity("-1"), Err(UserFault::NoUser("-1".into())));
    }
}
