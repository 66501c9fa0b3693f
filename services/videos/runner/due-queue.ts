interface Entry<Item> { item: Item, dueMs: number }

/**
 * Creates a queue of items by due time, each at most once: a binary heap, in which an item whose time was
 * replaced leaves a stale entry behind.
 */
export function createDueQueue<Item extends object> () {
  const heap: Entry<Item>[] = []
  const current = new Map<Item, Entry<Item>>()
  const before = (one: number, other: number) => heap[one]!.dueMs < heap[other]!.dueMs

  function swap (one: number, other: number): void {
    [heap[one], heap[other]] = [heap[other]!, heap[one]!]
  }

  function push (entry: Entry<Item>): void {
    let at = heap.push(entry) - 1
    for (let parent = (at - 1) >> 1; at > 0 && before(at, parent); parent = (at - 1) >> 1) {
      swap(at, parent)
      at = parent
    }
  }

  function pop (): void {
    swap(0, heap.length - 1)
    heap.pop()
    for (let at = 0; ;) {
      const left = 2 * at + 1
      const child = left + 1 < heap.length && before(left + 1, left) ? left + 1 : left
      if (child >= heap.length || !before(child, at)) return
      swap(at, child)
      at = child
    }
  }

  function first (): Entry<Item> | undefined {
    for (let entry = heap[0]; entry !== undefined; entry = heap[0]) {
      if (current.get(entry.item) === entry) return entry
      pop()
    }
    return undefined
  }

  return {
    /** Sets or replaces the due time of an item. */
    set (item: Item, dueMs: number): void {
      const entry = { item, dueMs }
      current.set(item, entry)
      push(entry)
    },
    delete (item: Item): void { current.delete(item) },
    /** The earliest due time; Infinity if empty. */
    get nextMs (): number { return first()?.dueMs ?? Infinity },
    /** Removes and returns the next item that is due. */
    take (nowMs: number): Item | undefined {
      const entry = first()
      if (entry === undefined || entry.dueMs > nowMs) return undefined
      pop()
      current.delete(entry.item)
      return entry.item
    }
  }
}
