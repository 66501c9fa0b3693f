import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Agent, type Dispatcher } from 'undici'
import type { ProviderConfig } from '../catalogue/types.ts'
import { newProvider } from '../new-provider.ts'

interface LocalCandidate { id: string, dialect: string, baseUrl: string }

const defaultCandidates: readonly LocalCandidate[] = [
  { id: 'ollama', dialect: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  { id: 'lmstudio', dialect: 'lmstudio', baseUrl: 'http://127.0.0.1:1234/v1' }
]

const maxResponseBytes = 1024 * 1024

/** A list of models; Ollama returns null for an empty one. */
const Models = Type.Object({
  data: Type.Union([Type.Array(Type.Object({ id: Type.String() })), Type.Null()])
})

/** Returns a provider for each local model server that responds within `timeoutMs`. Never throws. */
export async function discoverLocal (
  { candidates = defaultCandidates, timeoutMs = 300 }:
  { candidates?: readonly LocalCandidate[], timeoutMs?: number } = {}
): Promise<ProviderConfig[]> {
  const dispatcher = new Agent()
  const signal = AbortSignal.timeout(timeoutMs)
  const responses = await Promise.allSettled(candidates.map(async ({ id, dialect, baseUrl }) => {
    const isRunning = await listsModels(baseUrl, dispatcher, signal)
    return isRunning ? [newProvider({ id, dialect, baseUrl, discover: true })] : []
  }))
  await dispatcher.destroy()
  return responses.flatMap((response) => response.status === 'fulfilled' ? response.value : [])
}

async function listsModels (baseUrl: string, dispatcher: Dispatcher, signal: AbortSignal): Promise<boolean> {
  const { origin, pathname } = new URL(`${baseUrl}/models`)
  const { statusCode, body } = await dispatcher.request({ origin, path: pathname, method: 'GET', signal })
  const text = statusCode === 200 ? await readText(body) : ''
  return text !== '' && Value.Check(Models, JSON.parse(text))
}

async function readText (body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxResponseBytes) return ''
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
