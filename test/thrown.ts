/** What `work` throws; `undefined` when it throws nothing. For `t.match` on errors with own fields. */
export function thrown (work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}

/** What a promise is rejected with; `null` when it resolves. */
export function rejection (promise: Promise<unknown>): Promise<unknown> {
  return promise.then(() => null, (error: unknown) => error)
}
