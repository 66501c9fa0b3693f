/**
 * Goes on with a value: at once when it is there, later when it is promised. To wait for what is there
 * already costs a turn of the microtask queue, and a request would have many.
 */
export function whenThere<T, R> (value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
