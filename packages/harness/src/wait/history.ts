/** What one part of a wait saw, told in its error. What repeats itself is counted. */
export class History {
  readonly #what: string
  #came = false
  #last: { readonly text: string; times: number; atMs: number } | undefined
  #before: string | undefined

  constructor(what: string) {
    this.#what = what
  }

  /** Something was seen that is not what is waited for. */
  saw(text: string): void {
    const atMs = performance.now()
    if (this.#last?.text === text) {
      this.#last.times += 1
      this.#last.atMs = atMs
      return
    }
    this.#before = this.#last?.text
    this.#last = { text, times: 1, atMs }
  }

  /** What is waited for came. */
  came(): void {
    this.#came = true
  }

  /** One line without line end. */
  toString(): string {
    if (this.#came) return `${this.#what}: came`
    if (!this.#last) return `${this.#what}: nothing was seen`
    const { text, times, atMs } = this.#last
    const often = times > 1 ? `, ${times} times, the last ${Math.round(performance.now() - atMs)} ms before` : ''
    const before = this.#before === undefined ? '' : ` (before that: ${this.#before})`
    return `${this.#what}: ${text}${often}${before}`
  }
}
