/** Loaded before a program, it sets the program's clock `TEST_CLOCK_AHEAD_MS` ahead of the machine's. */
const aheadMs = Number(process.env['TEST_CLOCK_AHEAD_MS'])
const now = Date.now

globalThis.Date = class extends Date {
  constructor (value: number | string = now() + aheadMs) {
    super(value)
  }

  static override now (): number {
    return now() + aheadMs
  }
} as DateConstructor
