import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { Agent, type Dispatcher } from 'undici'
import { maxCatalogueBytes, catalogueTooLarge } from './update-file.ts'

const timeoutMs = 30_000

export interface FetchedUpdate { content: string, sha256: string }

/**
 * Reads a catalogue from a file or a URL, and checks its SHA-256: the given one, or that in the file of the
 * same name with `.sha256` beside it. Only a local file may lack both, and only a given one secures a plain
 * HTTP address of another machine. Throws an Error.
 */
export async function fetchUpdate (
  from: string, pinned: string | null, signal: AbortSignal = AbortSignal.timeout(timeoutMs)
): Promise<FetchedUpdate> {
  const isUrl = /^https?:\/\//.test(from)
  if (isUrl && pinned === null && !isSafe(new URL(from))) throw new Error(`${from} needs HTTPS, or --sha256.`)
  const dispatcher = new Agent()
  try {
    const content = isUrl
      ? await download(dispatcher, from, maxCatalogueBytes, signal)
      : await readLocal(from)
    const readHash = async (): Promise<string | null> => {
      return isUrl ? await download(dispatcher, `${from}.sha256`, 1024, signal) : await hashBeside(from)
    }
    const beside = pinned ?? await readHash()
    const sha256 = createHash('sha256').update(content).digest('hex')
    const expected = beside === null ? sha256 : /^\s*([0-9a-f]{64})\b/i.exec(beside)?.[1]?.toLowerCase()
    if (expected !== sha256) throw new Error(`The catalogue has the SHA-256 ${sha256}, not ${expected ?? 'a stated one'}.`)
    return { content, sha256 }
  } finally {
    await dispatcher.destroy()
  }
}

function isSafe ({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

async function download (
  dispatcher: Dispatcher, url: string, maxBytes: number, signal: AbortSignal
): Promise<string> {
  const { origin, pathname, search } = new URL(url)
  const { statusCode, body } = await dispatcher.request({ origin, path: pathname + search, method: 'GET', signal })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw catalogueTooLarge()
    chunks.push(chunk)
  }
  if (statusCode !== 200) throw new Error(`${origin}${pathname} responded with ${statusCode}.`)
  return Buffer.concat(chunks).toString()
}

async function readLocal (path: string): Promise<string> {
  const { size } = await stat(path)
  if (size > maxCatalogueBytes) throw catalogueTooLarge()
  return await readFile(path, 'utf8')
}

async function hashBeside (path: string): Promise<string | null> {
  return await readFile(`${path}.sha256`, 'utf8').catch(() => null)
}
