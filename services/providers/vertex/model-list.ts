import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { readGeminiError } from '../gemini/errors.ts'
import { googlePages, pagesOf } from '../list-pages.ts'
import type { Upstream } from '../provider.ts'
import { readObject } from '../upstream/read-response.ts'

const publishers = ['google', 'anthropic'] as const
const pageSize = 100

/** The names of the models on Vertex AI that the gateway can call. Throws UpstreamError. */
export async function listVertexModels (
  { connection, headers }: Upstream, signal: AbortSignal
): Promise<string[]> {
  async function listOf (publisher: string): Promise<string[]> {
    async function read (query: string): Promise<JsonObject> {
      const path = `/${publisher}/models?pageSize=${pageSize}${query}`
      const response = await connection.send({ method: 'GET', path, headers, signal })
      if (response.status !== 200) throw await readGeminiError(response, null)
      return await readObject(response)
    }
    const lists = await Array.fromAsync(pagesOf(read, googlePages))
    return lists.flatMap(namesIn)
  }

  return (await Promise.all(publishers.map(listOf))).flat()
}

/** Names such as `publishers/google/models/gemini-3.5-flash`; others are not served here. */
function namesIn ({ publisherModels: models }: JsonObject): string[] {
  return (Array.isArray(models) ? models : []).flatMap(model => {
    const name = isObject(model) && isText(model.name) ? model.name.split('/').at(-1) ?? '' : ''
    return /^(gemini|claude|imagen|veo)-/.test(name) ? [name] : []
  })
}
