//! Commands: exits, streams, environment, users, terminals, and what is left of them.

use std::time::{Duration, Instant};

use boxlab_protocol::{Control, Exec, Exited, Request, Started, Stdio, WindowSize, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::host::{Guest, answer, exec, gone, must_be_root, runs, shell};

const SIZE: Option<WindowSize> = Some(WindowSize { rows: 33, cols: 77 });

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn the_exit_code_and_both_outputs_are_exact() {
    let guest = Guest::start();
    for code in [0, 1, 7, 255] {
        let output = guest.run(shell(1, &format!("printf out; printf err >&2; exit {code}")), b"").await.unwrap();
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("out", "err"));
        assert_eq!((output.exited.code, output.exited.signal), (Some(code), None));
        assert!(!output.exited.output_held && output.exited.took_ns > 0);
    }
}

#[tokio::test]
async fn a_signal_that_ends_a_command_is_told_and_is_no_exit_code() {
    let guest = Guest::start();
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV, libc::SIGPIPE] {
        let output = guest.run(shell(1, &format!("kill -{signal} $$")), b"").await.unwrap();
        assert_eq!((output.exited.code, output.exited.signal), (None, Some(signal)));
    }
}

#[tokio::test]
async fn took_is_the_time_of_the_command() {
    let guest = Guest::start();
    let exited = guest.run(exec(1, &["sleep", "0.3"]), b"").await.unwrap().exited;
    assert!((300_000_000..600_000_000).contains(&exited.took_ns), "{exited:?}");
}

#[tokio::test]
async fn stdin_arrives_whole_and_ends() {
    let guest = Guest::start();
    let input: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    let output = guest.run(exec(1, &["cat"]), &input).await.unwrap();
    assert!(output.stdout == input);
}

#[tokio::test]
async fn a_command_that_leaves_its_stdin_unread_still_exits() {
    let guest = Guest::start();
    let output = guest.run(exec(1, &["true"]), &vec![0; 3_000_000]).await.unwrap();
    assert_eq!(output.exited.code, Some(0));
}

#[tokio::test]
async fn the_working_directory_is_the_root_or_the_one_asked_for() {
    let guest = Guest::start();
    assert_eq!(guest.run(exec(1, &["pwd"]), b"").await.unwrap().stdout, b"/\n");
    let elsewhere = Exec { cwd: Some("/usr/bin".into()), ..exec(2, &["pwd"]) };
    assert_eq!(guest.run(elsewhere, b"").await.unwrap().stdout, b"/usr/bin\n");
    let relative = Exec { cwd: Some("/usr/bin".into()), ..exec(3, &["./true"]) };
    assert_eq!(guest.run(relative, b"").await.unwrap().exited.code, Some(0));
}

#[tokio::test]
async fn the_environment_is_the_defaults_and_what_was_asked_for() {
    let guest = Guest::start();
    let output = guest.run(exec(1, &["env"]), b"").await.unwrap();
    let mut lines: Vec<&str> = text(&output.stdout).lines().collect();
    lines.sort_unstable();
    let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(lines, ["HOME=/root", path, "TERM=linux"]);
    let env = vec![("TERM".into(), "dumb".into()), ("WORDS".into(), "a b=c\nd".into())];
    let output = guest.run(Exec { env, ..shell(2, "printf '%s|%s' \"$TERM\" \"$WORDS\"") }, b"").await.unwrap();
    assert_eq!(text(&output.stdout), "dumb|a b=c\nd");
}

#[tokio::test]
async fn signals_are_as_any_init_would_give_them() {
    let guest = Guest::start();
    let output = guest.run(exec(1, &["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]), b"").await.unwrap();
    for line in text(&output.stdout).lines() {
        let set = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        // 32 and 33 are the C library's own, which nobody can set through it.
        assert_eq!(set & !(0b11 << 31), 0, "{line}");
    }
}

#[tokio::test]
async fn a_command_inherits_no_descriptor_of_the_agent() {
    let guest = Guest::start();
    let output = guest.run(exec(1, &["ls", "/proc/self/fd"]), b"").await.unwrap();
    // 3 is the folder that ls reads.
    assert_eq!(text(&output.stdout), "0\n1\n2\n3\n");
}

#[tokio::test]
async fn a_user_brings_ids_groups_and_home() {
    must_be_root();
    let guest = Guest::start();
    let show = "printf '%s %s %s ' \"$(id -u)\" \"$(id -G)\" \"$HOME\"; grep CapEff /proc/self/status | cut -f2";
    for (user, expected) in [
        ("nobody", "65534 65534 /nonexistent 0000000000000000\n"),
        ("65534", "65534 65534 /nonexistent 0000000000000000\n"),
        ("4242:17", "4242 17 / 0000000000000000\n"),
        ("daemon:tty", "1 5 /usr/sbin 0000000000000000\n"),
    ] {
        let output = guest.run(Exec { user: Some(user.into()), ..shell(1, show) }, b"").await.unwrap();
        assert_eq!(text(&output.stdout), expected, "{user}: {}", text(&output.stderr));
    }
    let refused = guest.run(Exec { user: Some("nosuchuser".into()), ..exec(1, &["true"]) }, b"").await.unwrap_err();
    assert!(refused.message.contains("nosuchuser") && refused.message.contains("/etc/passwd"), "{refused}");
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_by_its_name() {
    let guest = Guest::start();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let script = script.to_str().unwrap();
    let refusal = async |exec: Exec| guest.run(exec, b"").await.unwrap_err();

    let not_found = refusal(exec(1, &["no-such-command"])).await;
    assert!(not_found.message.contains("no-such-command was not found in PATH=/usr/local/sbin"), "{not_found}");
    assert_eq!(not_found.errno, Some(libc::ENOENT));
    let not_found = refusal(exec(1, &["/no/such"])).await;
    assert_eq!(not_found.message, "the command /no/such was not found");
    let own_path = refusal(Exec { env: vec![("PATH".into(), "/opt:/srv".into())], ..exec(1, &["ls"]) }).await;
    assert!(own_path.message.ends_with("in PATH=/opt:/srv"), "{own_path}");
    let not_executable = refusal(exec(1, &[script])).await;
    assert!(not_executable.message.contains(script), "{not_executable}");
    assert_eq!(not_executable.errno, Some(libc::EACCES));
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let no_interpreter = refusal(exec(1, &[script])).await;
    assert!(no_interpreter.message.contains("interpreter"), "{no_interpreter}");
    let no_folder = refusal(Exec { cwd: Some("/no/such/folder".into()), ..exec(1, &["true"]) }).await;
    assert!(no_folder.message.contains("working directory /no/such/folder"), "{no_folder}");
    assert_eq!(no_folder.errno, Some(libc::ENOENT));
    let a_file = refusal(Exec { cwd: Some("/etc/passwd".into()), ..exec(1, &["true"]) }).await;
    assert_eq!(a_file.errno, Some(libc::ENOTDIR));
    assert!(refusal(exec(1, &[])).await.message.contains("argv is empty"));
    assert!(refusal(exec(1, &["echo", "a\0b"])).await.message.contains("\"a\\0b\" has a NUL"));
    assert!(refusal(exec(1, &[""])).await.message.starts_with("the command  was not found"));
}

#[tokio::test]
async fn the_streams_may_come_after_the_request_and_in_any_order() {
    let guest = Guest::start();
    let mut control = guest.ask(&Request::Exec(exec(9, &["echo", "late"]))).await;
    sleep(Duration::from_millis(50)).await;
    let _stderr = guest.ask(&Request::Attach { exec: 9, stream: Stdio::Stderr }).await;
    let mut stdout = guest.ask(&Request::Attach { exec: 9, stream: Stdio::Stdout }).await;
    let _stdin = guest.ask(&Request::Attach { exec: 9, stream: Stdio::Stdin }).await;
    answer::<Started>(&mut control).await.unwrap();
    let mut said = String::new();
    stdout.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "late\n");
    assert_eq!(frame::read::<Exited>(&mut control).await.unwrap().code, Some(0));
}

#[tokio::test]
async fn a_command_whose_streams_do_not_come_is_refused_in_time() {
    let guest = Guest::start();
    let _stdout = guest.ask(&Request::Attach { exec: 9, stream: Stdio::Stdout }).await;
    let begun = Instant::now();
    let mut control = guest.ask(&Request::Exec(exec(9, &["true"]))).await;
    let refusal = answer::<Started>(&mut control).await.unwrap_err();
    assert!(refusal.message.contains("its stdin and stderr (attached as 9) did not come within 10 s"), "{refusal}");
    assert!(begun.elapsed() < Duration::from_secs(12));
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group() {
    let guest = Guest::start();
    let mut command =
        guest.begin(shell(1, "trap 'echo caught; exit 3' USR1; sleep 60 & sleep 0.2; echo ready; wait")).await.unwrap();
    let mut ready = [0; 6];
    command.stdout.read_exact(&mut ready).await.unwrap();
    frame::write(&mut command.control, &Control::Signal { signal: libc::SIGUSR1 }).await.unwrap();
    let output = timeout(Duration::from_secs(5), command.finish(b"")).await.unwrap();
    assert_eq!((text(&output.stdout), output.exited.code), ("caught\n", Some(3)));
    // The sleep had the default disposition and is gone too, so that it did not hold the output.
    assert!(!output.exited.output_held);
}

#[tokio::test]
async fn letting_go_of_a_command_kills_its_group() {
    let guest = Guest::start();
    let mut command = guest.begin(shell(1, "trap '' TERM INT HUP; sleep 1000 & echo $!; wait")).await.unwrap();
    let mut line = [0; 16];
    let length = command.stdout.read(&mut line).await.unwrap();
    let child: u32 = text(&line[..length]).trim().parse().unwrap();
    let leader = command.pid;
    assert!(runs(child) && runs(leader));
    drop(command);
    timeout(Duration::from_secs(2), gone(&[leader, child])).await.unwrap();
}

#[tokio::test]
async fn a_host_that_is_gone_takes_its_commands_with_it() {
    let mut guest = Guest::start();
    let quiet = guest.begin(exec(1, &["sleep", "1000"])).await.unwrap();
    let busy = guest.begin(exec(2, &["yes"])).await.unwrap();
    assert!(timeout(Duration::from_secs(5), guest.leave()).await.unwrap());
    timeout(Duration::from_secs(2), gone(&[quiet.pid, busy.pid])).await.unwrap();
}

#[tokio::test]
async fn a_child_left_behind_does_not_hold_the_exit() {
    let guest = Guest::start();
    let begun = Instant::now();
    let output = guest.run(shell(1, "echo said; sleep 3 & exit 4"), b"").await.unwrap();
    assert_eq!((text(&output.stdout), output.exited.code), ("said\n", Some(4)));
    assert!(output.exited.output_held);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    assert!(output.exited.took_ns < 200_000_000, "the wait is not the command's: {:?}", output.exited);
}

#[tokio::test]
async fn a_child_left_behind_that_still_speaks_is_heard() {
    let guest = Guest::start();
    let output = guest.run(shell(1, "(sleep 0.1; echo later) & exit 0"), b"").await.unwrap();
    assert_eq!(text(&output.stdout), "later\n");
    assert!(!output.exited.output_held);
}

#[tokio::test]
async fn a_terminal_is_one_and_has_its_size() {
    let guest = Guest::start();
    let show = "test -t 0 && test -t 1 && test -t 2 && stty size </dev/tty && echo $TERM";
    let output = guest.run(Exec { pty: SIZE, ..shell(1, show) }, b"").await.unwrap();
    assert_eq!(text(&output.stdout), "33 77\r\nxterm\r\n");
    assert_eq!(output.exited.code, Some(0));
}

#[tokio::test]
async fn a_terminal_takes_lines_and_an_end() {
    let guest = Guest::start();
    for (input, seen) in [("hello\n", "hello\r\nhello\r\n"), ("half", "halfhalf"), ("", "")] {
        let run = guest.run(Exec { pty: SIZE, ..exec(1, &["cat"]) }, input.as_bytes());
        let output = timeout(Duration::from_secs(5), run).await.unwrap().unwrap();
        let shown = text(&output.stdout).replace("^D\u{8}\u{8}", "");
        assert_eq!((shown.as_str(), output.exited.code), (seen, Some(0)));
    }
}

#[tokio::test]
async fn a_terminal_can_be_resized_and_interrupted() {
    let guest = Guest::start();
    let text_of_it = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.02; done";
    let mut command = guest.begin(Exec { pty: SIZE, ..shell(1, text_of_it) }).await.unwrap();
    let mut ready = [0; 7];
    command.stdout.read_exact(&mut ready).await.unwrap();
    frame::write(&mut command.control, &Control::Resize(WindowSize { rows: 50, cols: 120 })).await.unwrap();
    let mut size = [0; 8];
    timeout(Duration::from_secs(5), command.stdout.read_exact(&mut size)).await.unwrap().unwrap();
    assert_eq!(text(&size), "50 120\r\n");
    // Ctrl-C, through the line discipline.
    command.stdin.write_all(b"\x03").await.unwrap();
    let exited = frame::read::<Exited>(&mut command.control).await.unwrap();
    assert_eq!(exited.signal, Some(libc::SIGINT));
}

#[tokio::test]
async fn a_terminal_belongs_to_its_user() {
    must_be_root();
    let guest = Guest::start();
    let run = Exec { pty: SIZE, user: Some("nobody".into()), ..shell(1, "stat -c '%u %a' $(tty); echo x >$(tty)") };
    assert_eq!(text(&guest.run(run, b"").await.unwrap().stdout), "65534 620\r\nx\r\n");
}

#[tokio::test]
async fn closing_an_output_reaches_the_command() {
    let guest = Guest::start();
    let mut command = guest.begin(exec(1, &["yes"])).await.unwrap();
    drop(command.stdout);
    let exited = timeout(Duration::from_secs(5), frame::read::<Exited>(&mut command.control)).await.unwrap().unwrap();
    assert_eq!(exited.signal, Some(libc::SIGPIPE));
}
