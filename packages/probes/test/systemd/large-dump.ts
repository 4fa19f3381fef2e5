/** Settings of exec and cgroup that nobody asks for: most of a real dump, which has some 3400 bytes a unit. */
const SETTINGS_OF_A_UNIT = 60

/** A dump of `units` services, each after the one before and some others, ten a second. */
export function dumpOf(units: number): string {
  const at = (second: number): string => `Mon 2026-11-30 ${new Date(second * 1000).toISOString().slice(11, 19)} UTC`
  const blocks = Array.from({ length: units }, (_, index) => {
    const [run, end] = [at(10 + Math.floor(index / 10)), at(10 + Math.floor((index + 5) / 10))]
    return [
      `-> Unit u${index}.service:`,
      `\tDescription: unit ${index}`,
      '\tUnit Load State: loaded',
      `\tInactive Exit Timestamp: ${run}`,
      `\tActive Enter Timestamp: ${end}`,
      '\tActive Exit Timestamp: n/a',
      '\tInactive Enter Timestamp: n/a',
      `\tCondition Timestamp: ${run}`,
      '\tCondition Result: yes',
      ...[1, 7, 31, 101]
        .filter((back) => back <= index)
        .map((back) => `\tAfter: u${index - back}.service (origin-file)`),
      '\tStopWhenUnneeded: no',
      ...Array.from({ length: SETTINGS_OF_A_UNIT }, (__, line) => `\tSettingOfTheUnit${line}: some value that it has`),
    ].join('\n')
  })
  return `Timestamp kernel: ${at(5)}\nTimestamp userspace: ${at(9)}\n${blocks.join('\n')}\n`
}
