/** What `work` throws; `undefined` when it throws nothing. For `t.match` on errors with own fields. */
export function thrown (work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
