/**
 * Escape sequences as firmware, getty and systemd write them to a serial console: CSI (`ESC [ … letter`), OSC
 * and its kin (`ESC ] … BEL` or `ESC \`), and two-character ones. ECMA-48. Each alternative stops at the next ESC, so that
 * removing them takes linear time.
 */
// oxlint-disable-next-line no-control-regex
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^-~])/g
// Control characters other than tab and carriage return show nothing.
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f]/g

/** The text that a terminal would show, with tabs and carriage returns left in. */
export function plainText(text: string): string {
  return text.replace(ESCAPES, '').replace(CONTROLS, '')
}

/** Foreign text on one line of ours: no escape codes, no control characters, no line breaks. */
export function asDisplayText(text: string): string {
  return plainText(text).replace(/[\r\n\t]+/g, ' ')
}
