import { isAlias, isCollection, isMap, isNode, isPair, isScalar, isSeq, type Document, type Pair } from 'yaml'

/** The steps from the root to a value: keys of maps and indexes of lists. */
export type Path = readonly (string | number)[]

/** Offsets in the text: the first character, and the one after the last. */
export type Range = readonly [number, number]

/** Formats a path as `models[3].price.input`. */
export function formatPath (path: Path): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return `[${step}]`
    return /^[\w-]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return steps.join('').replace(/^\./, '')
}

/** Formats the path and all its prefixes. */
export function prefixes (path: Path): string[] {
  return [...path.keys(), path.length].map((length) => formatPath(path.slice(0, length)))
}

/** Returns the node at a path, following aliases; undefined if there is none. */
export function locate (document: Document, path: Path): unknown {
  let node: unknown = document.contents
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document)
    node = isCollection(node) ? node.get(step, true) : undefined
  }
  return isAlias(node) ? node.resolve(document) : node
}

/** Returns the range of the value or key at a path, or of the closest value above that exists. */
export function rangeAt (document: Document, path: Path, at: 'key' | 'value'): Range {
  const node = locate(document, path)
  const step = path.at(-1)
  if (step === undefined) return rangeOf(node)
  const parentPath = path.slice(0, -1)
  if (at === 'key') {
    const parent = locate(document, parentPath)
    const pair = isMap(parent) ? parent.items.find((item) => keyOf(item) === step) : undefined
    if (pair !== undefined) return rangeOf(pair.key)
  }
  return node === undefined ? rangeAt(document, parentPath, 'value') : rangeOf(node)
}

/** Returns the range of a node; the start of the text for anything else. */
export function rangeOf (node: unknown): Range {
  return isNode(node) && node.range ? [node.range[0], node.range[1]] : [0, 0]
}

/** Returns the path of a node that `visit` reached. */
export function pathOf (key: number | 'key' | 'value' | null, ancestors: readonly unknown[]): Path {
  const steps = ancestors.flatMap((ancestor, index) => {
    if (isPair(ancestor)) return keyOf(ancestor)
    const child = ancestors[index + 1]
    return isSeq(ancestor) && child !== undefined ? ancestor.items.indexOf(child) : []
  })
  return typeof key === 'number' ? [...steps, key] : steps
}

function keyOf ({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key)
}
