import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { readGeminiError } from '../gemini/errors.ts'
import type { Upstream } from '../provider.ts'
import { readObject } from '../upstream/read-response.ts'
import { urlPart } from '../url-part.ts'

const publishers = ['google', 'anthropic'] as const
const pages = { size: 100, most: 20 }

/** The names of the models that a provider of the protocol can call. Throws UpstreamError. */
export async function listVertexModels (
  { connection, headers }: Upstream, signal: AbortSignal
): Promise<string[]> {
  async function listOf (publisher: string): Promise<string[]> {
    const names: string[] = []
    let token = ''
    for (let page = 0; page < pages.most; page++) {
      const query = token === '' ? '' : `&pageToken=${urlPart(token)}`
      const path = `/${publisher}/models?pageSize=${pages.size}${query}`
      const response = await connection.send({ method: 'GET', path, headers, signal })
      if (response.status !== 200) throw await readGeminiError(response, null)
      const list = await readObject(response)
      names.push(...namesIn(list))
      token = isText(list.nextPageToken) ? list.nextPageToken : ''
      if (token === '') break
    }
    return names
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
