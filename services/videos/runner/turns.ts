/** A queue whose groups take turns, at every level of their path. */
export interface Turns<Item> {
  readonly size: number
  /** Adds an item at the end of its group; does nothing if it waits already. */
  add (path: readonly string[], item: Item): void
  delete (path: readonly string[], item: Item): void
  /** Removes and returns the item whose turn it is: the first of the group that has waited longest. */
  take (): Item | undefined
}

interface Group<Item> { groups: Map<string, Group<Item>>, items: Set<Item> }

/** Creates an empty queue. All paths have the same length. */
export function createTurns<Item> (): Turns<Item> {
  const root = newGroup<Item>()
  let size = 0
  return {
    get size () { return size },
    add (path, item) {
      let group = root
      for (const name of path) {
        const next = group.groups.get(name) ?? newGroup<Item>()
        group.groups.set(name, next)
        group = next
      }
      if (!group.items.has(item)) size++
      group.items.add(item)
    },
    delete (path, item) {
      if (remove(root, path, item)) size--
    },
    take () {
      const item = takeFrom(root)
      if (item !== undefined) size--
      return item
    }
  }
}

const newGroup = <Item>(): Group<Item> => ({ groups: new Map(), items: new Set() })

const isEmpty = ({ groups, items }: Group<unknown>): boolean => groups.size === 0 && items.size === 0

function takeFrom<Item> ({ groups, items }: Group<Item>): Item | undefined {
  const [first] = groups
  if (first !== undefined) {
    const [name, group] = first
    const item = takeFrom(group)
    // Behind all groups that wait.
    groups.delete(name)
    if (!isEmpty(group)) groups.set(name, group)
    return item
  }
  const [item] = items
  if (item !== undefined) items.delete(item)
  return item
}

function remove<Item> (
  { groups, items }: Group<Item>, [name, ...rest]: readonly string[], item: Item
): boolean {
  if (name === undefined) return items.delete(item)
  const group = groups.get(name)
  if (group === undefined) return false
  const isFound = remove(group, rest, item)
  if (isEmpty(group)) groups.delete(name)
  return isFound
}
