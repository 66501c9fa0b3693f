import { kindsAt } from '../catalogue/kinds.ts'
import type { ModelConfig, ProviderConfig, VideoAbilities } from '../catalogue/types.ts'
import { knownVideo } from '../catalogue/videos.ts'
import type { YamlDocument } from '../yaml/document.ts'
import type { Path } from '../yaml/path.ts'

/** Explains why a provider's model makes no videos of a length, in seconds; null if that is unknown. */
export type RefusedLength = (provider: ProviderConfig, model: string, seconds: number) => string | null

const nouns = { chat: 'chat', image: 'images', video: 'videos' }

/** Reports a kind that a provider of the model does not have. */
export function checkKind (
  { kind, deployments }: Pick<ModelConfig, 'kind' | 'deployments'>,
  providers: ReadonlyMap<string, ProviderConfig>, path: Path, document: YamlDocument
): void {
  for (const { provider } of deployments) {
    const config = providers.get(provider)
    const kinds = config && kindsAt(config)
    if (kinds === undefined || kinds.includes(kind)) continue
    const has = kinds.map(one => nouns[one]).join(' and ')
    document.report([...path, 'kind'], `is ${kind}, but the provider ${provider} has an API for ${has} only`)
  }
}

/** Reports lengths of videos that a provider of the model refuses. */
export function checkLengths (
  { deployments }: Pick<ModelConfig, 'deployments'>,
  lengths: readonly { path: Path, seconds: number }[],
  providers: ReadonlyMap<string, ProviderConfig>, refusedLength: RefusedLength, document: YamlDocument
): void {
  for (const { path, seconds } of lengths) {
    const refusals = deployments.map(({ provider, model }) => {
      const config = providers.get(provider)
      return lengthRefusal(knownVideo(provider, model), seconds, path) ??
        (config === undefined ? null : refusedLength(config, model, seconds))
    })
    const [first = null] = refusals
    // A length is possible if one deployment makes it.
    if (first !== null && refusals.every(refusal => refusal !== null)) document.report(path, `is impossible: ${first}`)
  }
}

/** By the catalogue; the usual length is checked against all that the model supports. */
function lengthRefusal (video: VideoAbilities | undefined, seconds: number, path: Path): string | null {
  if (path.includes('default_seconds') || video?.seconds == null || video.seconds.includes(seconds)) return null
  return `The model at the provider makes videos of ${video.seconds.join(', ')} seconds.`
}
