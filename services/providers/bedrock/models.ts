import type { ModelKind } from '../../config/catalogue/kinds.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { pagesOf } from '../list-pages.ts'
import { readObject } from '../upstream/read-response.ts'
import type { Connection } from '../upstream/response.ts'
import { foundationModel } from './model-names.ts'

const profilesPath = '/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED'
const kinds: Readonly<Record<string, ModelKind>> = { TEXT: 'chat', IMAGE: 'image', VIDEO: 'video' }

/**
 * The models of a region by id, with their kinds: foundation models that are served on demand, and the
 * inference profiles of the others. Source: @aws-sdk/client-bedrock 3.1164.0.
 */
export async function listModels (
  control: Connection, headers: Record<string, string>, signal: AbortSignal
): Promise<Map<string, ModelKind>> {
  const get = async (path: string): Promise<JsonObject> =>
    await readObject(await control.send({ method: 'GET', path, headers, signal }))
  const { modelSummaries } = await get('/foundation-models')
  const foundation = new Map<string, ModelKind>()
  const listed = new Map<string, ModelKind>()
  for (const model of objectsIn(modelSummaries)) {
    const { modelId: id, outputModalities: outputs, inferenceTypesSupported: types } = model
    const kind = Array.isArray(outputs) ? kinds[String(outputs[0])] : undefined
    if (!isText(id) || kind === undefined) continue
    foundation.set(id, kind)
    if (Array.isArray(types) && types.includes('ON_DEMAND')) listed.set(id, kind)
  }
  const pages = pagesOf(query => get(profilesPath + query), { parameter: 'nextToken', member: 'nextToken' })
  for await (const { inferenceProfileSummaries: profiles } of pages) {
    for (const { inferenceProfileId: id, status } of objectsIn(profiles)) {
      if (isText(id) && status === 'ACTIVE') listed.set(id, foundation.get(foundationModel(id)) ?? 'chat')
    }
  }
  return listed
}

function objectsIn (list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}
