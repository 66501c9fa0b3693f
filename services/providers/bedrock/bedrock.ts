import type { ProviderConfig } from '../../config/catalogue/types.ts'
import type { ProviderParts } from '../provider.ts'
import { bearerOf, signedBy } from './authorize.ts'
import { createBedrockChat } from './chat.ts'
import { createBedrockImages } from './images.ts'
import { createBedrockVideos } from './videos.ts'
import { createAwsIdentity, openCredentials } from './credentials.ts'

/** The parts of Amazon Bedrock, with a key or with AWS credentials. */
export function bedrockParts ({ apiKey, region: configured, aws = null }: ProviderConfig): ProviderParts {
  const region = configured ?? 'us-east-1'
  const identity = apiKey === null ? createAwsIdentity(() => openCredentials(aws, region)) : null
  const options = { region, aws, identity }
  return {
    authorize: identity === null ? bearerOf(apiKey ?? '') : signedBy(identity, region),
    chat: upstream => createBedrockChat(upstream, options),
    images: upstream => createBedrockImages(upstream, options),
    videos: upstream => createBedrockVideos(upstream, options)
  }
}
