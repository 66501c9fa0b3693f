/** Returns what `work` throws, or `undefined`; for `t.match` on errors with own fields. */
export function thrown (work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}

/** Returns what a promise rejects with; `null` if it resolves. */
export function rejection (promise: Promise<unknown>): Promise<unknown> {
  return promise.then(() => null, (error: unknown) => error)
}
