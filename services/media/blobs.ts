import type { Spooled } from './spool.ts'

/** First and last byte, both included. */
export interface ByteRange { start: number, end: number }

/** Where the bytes of media are. All methods throw MediaUnavailable. */
export interface Blobs {
  /** Whether every node sees the same; else each one cleans up behind itself. */
  readonly shared: boolean
  /** A folder of this node in which bodies are collected before they are kept; empty at first. */
  spoolFolder (): Promise<string>
  /** Takes a file over, whole or not at all, and away; resolves when it would survive a crash. */
  keep (key: string, file: Spooled): Promise<void>
  /** Throws MediaGone when there is no such key. What is returned has to be iterated or returned. */
  read (key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array>>
  /** What is not there is removed already. */
  remove (keys: readonly string[]): Promise<void>
  /** The keys written before a time, in ms since 1970, page by page; never what others put there. */
  writtenBefore (timeMs: number): AsyncIterable<string[]>
  /** Removes what nobody collects any more, in the folder for it. */
  forgetSpools (olderThanMs: number): Promise<void>
  close (): Promise<void>
}

const idPattern = '[0-9a-f]{32}'
const keyPattern = new RegExp(`^[0-9a-f]{2}/(${idPattern})\\.[a-z0-9]{2,5}$`)
const namePattern = new RegExp(`^(${idPattern})\\.([a-z0-9]{2,5})$`)

/** Where a file is kept: spread over folders, because one with a million files is slow. */
export function keyOf (id: string, extension: string): string {
  return `${id.slice(0, 2)}/${id}.${extension}`
}

/** The id in a key; null for what is no key of ours. */
export function idInKey (key: string): string | null {
  return keyPattern.exec(key)?.[1] ?? null
}

/** Reads `<id>.<extension>`, the last part of an address; null for everything else. */
export function readName (name: string): { id: string, extension: string } | null {
  const [, id, extension] = namePattern.exec(name) ?? []
  return id === undefined || extension === undefined ? null : { id, extension }
}
