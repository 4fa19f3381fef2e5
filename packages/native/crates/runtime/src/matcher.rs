//! Finds texts in a byte stream that arrives in arbitrary chunks.

use memchr::memmem::Finder;

/// What to look for: `head`, and where there is a tail, `tail` after it on the same line within [`LINE_BYTES`].
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The mark that its appearance sets.
    pub mark: String,
    head: Finder<'static>,
    tail: Option<Finder<'static>>,
    found: bool,
}

/// A pattern that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The pattern's mark.
    pub mark: String,
    /// The line up to the end of the chunk in which the pattern was completed, without its line end.
    pub line: Vec<u8>,
}

/// The longest stretch of one line that a pattern with a tail may span, and that a hit shows.
pub const LINE_BYTES: usize = 1024;

impl Pattern {
    /// A text.
    pub fn text(mark: &str, text: &str) -> Self {
        let head = Finder::new(text.as_bytes()).into_owned();
        Self { mark: mark.to_owned(), head, tail: None, found: false }
    }

    /// Two texts on one line, in this order.
    pub fn line(mark: &str, head: &str, tail: &str) -> Self {
        Self { tail: Some(Finder::new(tail.as_bytes()).into_owned()), ..Self::text(mark, head) }
    }

    /// Where the pattern is complete in `bytes`: from its head's first byte to the end of its last.
    fn find(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        for at in self.head.find_iter(bytes) {
            let end = at + self.head.needle().len();
            let Some(tail) = &self.tail else { return Some((at, end)) };
            let line = &bytes[end..(end + LINE_BYTES).min(bytes.len())];
            let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
            if let Some(tail_at) = tail.find(line) {
                return Some((at, end + tail_at + tail.needle().len()));
            }
        }
        None
    }
}

/// Looks for the first appearance of each of its patterns.
#[derive(Debug)]
pub struct Matcher {
    patterns: Vec<Pattern>,
    window: Vec<u8>,
    overlap: usize,
}

impl Matcher {
    /// A matcher that has seen nothing yet.
    pub fn new(patterns: Vec<Pattern>) -> Self {
        let longest = |pattern: &Pattern| match &pattern.tail {
            Some(tail) => pattern.head.needle().len() + LINE_BYTES + tail.needle().len(),
            None => pattern.head.needle().len(),
        };
        let overlap = patterns.iter().map(longest).max().unwrap_or(0).max(LINE_BYTES);
        Self { patterns, window: Vec::new(), overlap }
    }

    /// Takes the next chunk; gives what it completed. The result does not depend on how the stream is cut.
    pub fn feed(&mut self, chunk: &[u8]) -> Vec<Hit> {
        self.window.extend_from_slice(chunk);
        let mut hits = Vec::new();
        for pattern in &mut self.patterns {
            if pattern.found {
                continue;
            }
            if let Some((at, end)) = pattern.find(&self.window) {
                pattern.found = true;
                hits.push((end, Hit { mark: pattern.mark.clone(), line: line_around(&self.window, at, end) }));
            }
        }
        // Marks that one chunk completes are set in the order in which the guest printed them.
        hits.sort_by_key(|(end, _)| *end);
        let surplus = self.window.len().saturating_sub(self.overlap);
        self.window.drain(..surplus);
        hits.into_iter().map(|(_, hit)| hit).collect()
    }
}

fn line_around(bytes: &[u8], at: usize, end: usize) -> Vec<u8> {
    let from = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1).max(at.saturating_sub(LINE_BYTES));
    let to = memchr::memchr2(b'\n', b'\r', &bytes[end..]).map_or(bytes.len(), |offset| end + offset);
    bytes[from..to.min(end + LINE_BYTES)].to_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONSOLE: &str = "SeaBIOS\r\n[    0.000000] Linux version 6.1.0 (gcc)\r\n[    1.250000] Run the tests\r\n\
        [    1.500000] Run /init as init process\r\ndebian login: ";

    fn patterns() -> Vec<Pattern> {
        vec![
            Pattern::text("kernel-first-line", "Linux version "),
            Pattern::line("init-run", "Run ", " as init process"),
            Pattern::text("login-prompt", " login: "),
            Pattern::text("never", "Kernel panic"),
        ]
    }

    fn marks(chunks: &[&[u8]]) -> Vec<String> {
        let mut matcher = Matcher::new(patterns());
        chunks.iter().flat_map(|chunk| matcher.feed(chunk)).map(|hit| hit.mark).collect()
    }

    #[test]
    fn a_text_is_found_wherever_the_stream_is_cut_in_two() {
        let bytes = CONSOLE.as_bytes();
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(marks(&[left, right]), ["kernel-first-line", "init-run", "login-prompt"], "cut at {cut}");
        }
    }

    #[test]
    fn a_text_is_found_byte_by_byte() {
        let chunks: Vec<&[u8]> = CONSOLE.as_bytes().chunks(1).collect();
        assert_eq!(marks(&chunks), ["kernel-first-line", "init-run", "login-prompt"]);
    }

    #[test]
    fn two_texts_on_different_lines_are_no_match() {
        assert!(marks(&[b"Run fast\nhere as init process\n"]).is_empty());
        let mut apart = b"Run ".to_vec();
        apart.resize(LINE_BYTES + 100, b'x');
        apart.extend_from_slice(b" as init process");
        assert!(marks(&[&apart]).is_empty());
    }

    #[test]
    fn only_the_first_appearance_counts_and_its_line_is_shown() {
        let mut matcher = Matcher::new(patterns());
        let hits = matcher.feed(b"\r\n[    0.5] Linux version 1\r\n");
        assert_eq!(hits, [Hit { mark: "kernel-first-line".into(), line: b"[    0.5] Linux version 1".to_vec() }]);
        assert!(matcher.feed(b"[    0.6] Linux version 2\r\n").is_empty());
    }

    #[test]
    fn memory_stays_bounded_on_a_console_without_line_ends() {
        let mut matcher = Matcher::new(patterns());
        for _ in 0..1000 {
            matcher.feed(&[b'x'; 4096]);
            assert!(matcher.window.len() <= matcher.overlap);
        }
    }

    proptest! {
        #[test]
        fn any_split_of_any_stream_gives_the_same_marks(
            noise in proptest::collection::vec("(Run |Linux version | as init process|\n|x| login: |Kernel pan)", 0..40),
            cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let stream = noise.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            let bytewise: Vec<&[u8]> = stream.chunks(1).collect();
            let mut whole = marks(&[&stream]);
            let mut split = marks(&chunks);
            let mut single = marks(&bytewise);
            for list in [&mut whole, &mut split, &mut single] { list.sort(); }
            prop_assert_eq!(&whole, &split);
            prop_assert_eq!(&whole, &single);
        }
    }
}
