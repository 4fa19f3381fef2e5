/** What a matcher gives to vitest. */
export interface Answer {
  readonly pass: boolean
  readonly message: () => string
}
