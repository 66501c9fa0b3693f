import { Value } from '@sinclair/typebox/value'
import { PolicyEntry, type PolicyConfig } from '../../../schemas/config/config.ts'
import type { ModelConfig } from '../catalogue/types.ts'
import { compileGlob } from '../../shared/glob.ts'
import type { CheckedFile } from '../validate/check-structure.ts'
import type { YamlDocument } from '../yaml/document.ts'
import { toParsed } from './to-parsed.ts'

const builtInIds = ['auto', 'auto:cost', 'auto:quality', 'auto:speed']

/** Returns the policies that exist without being listed; each chooses among all chat models. */
export function builtInPolicies (): PolicyConfig[] {
  return builtInIds.map((id) => toParsed(PolicyEntry, Value.Default(PolicyEntry, { id })))
}

/**
 * Returns the file's policies and the other built-in ones. Reports duplicate ids, and names that match no
 * chat model; a video model must be named in full. The models of `discovering` providers are not yet listed.
 */
export function readPolicies (
  { policies, models: { brokenIds, complete } }: CheckedFile,
  models: readonly ModelConfig[],
  discovering: ReadonlySet<string>,
  document: YamlDocument
): PolicyConfig[] {
  const chatIds = [...models.filter(({ kind }) => kind === 'chat').map(({ id }) => id), ...brokenIds]
  const isVideo = (name: string) => models.some(({ id, kind }) => kind === 'video' && id === name)
  const ids = new Set<string>()
  const listed = policies.list.map(({ item, path }) => {
    if (ids.has(item.id)) document.report([...path, 'id'], 'is the id of an earlier policy')
    ids.add(item.id)
    for (const [index, glob] of item.models.entries()) {
      const [provider = ''] = glob.split('/', 1)
      if (!complete || glob === '*' || discovering.has(provider) || isVideo(glob)) continue
      if (!chatIds.some(compileGlob(glob))) document.report([...path, 'models', index], 'matches no chat model')
    }
    return toParsed(PolicyEntry, item, { document, path })
  })
  return [...listed, ...builtInPolicies().filter(({ id }) => !ids.has(id))]
}
